# ruff: noqa: RUF001, the words are in their own alphabets
"""Stop words: the closed word classes, which say nothing about what a text is about.

Articles, pronouns, prepositions, conjunctions, auxiliaries, question words and a few adverbs of
each language, frozen with semantics version 1. They also tell the language of a text. In English,
"may", "us" and "mine" are not on the list: they also name a month, a country, a pit. Contracted
endings ("'ll", "n't") never get here: `words.py` removes them.

Spec: analysis 5.
"""

from __future__ import annotations

_ENGLISH = (
    # articles, determiners, quantifiers
    "a an the this that these those all any both each either every few more most much neither "
    "no nor not other some such own same another "
    # pronouns
    "i me my myself we our ours ourselves you your yours yourself yourselves he him his "
    "himself she her hers herself it its itself they them their theirs themselves "
    # question words and relatives
    "who whom whose which what when where why how whether "
    # auxiliaries
    "am is are was were be been being have has had having do does did doing done can cannot "
    "could might must shall should will would "
    # prepositions
    "about above after against among at before below between by down during for from in into "
    "of off on onto out over through to toward towards under until up upon with within "
    "without "
    # conjunctions and adverbs
    "and but or if because as while than then so too very also again further once here there "
    "just only even though although "
)

STOP_WORDS = {
    "danish": (
        "af alle alt anden at blev blive bliver da de dem den denne der deres det dette dig "
        "din disse dog du efter eller en end er et for fra ham han hans har havde have hende "
        "hendes her hos hun hvad hver hvilken hvis hvor hvordan hvorfor i ikke ind ingen jeg "
        "jer kan kunne man mange med meget men mig min mine mit mod ned nogen noget nogle nu "
        "når og også om op os over på sig sin sine sit skal skulle som sådan til ud under var "
        "ved vi vil ville vor være været"
    ),
    "dutch": (
        "aan al alle als ben bent bij daar dan dat de deze die dit doch door dus een eens en "
        "er ge geen geweest had hadden heb hebben hebt heeft hem het hier hij hoe hun ik in "
        "is je jij jullie kan kon kunnen maar me meer men met mij mijn moet moeten na naar "
        "niet niets nog nu of om omdat onder ons onze ook op over reeds te tegen toch toen "
        "tot u uit uw van veel voor waar waarom wat we wel welke werd wezen wie wij wil "
        "worden wordt zal ze zei zelf zich zij zijn zo zonder zou"
    ),
    "english": _ENGLISH,
    "finnish": (
        "ei eivät emme en et ette että he heidän hän hänen ja joka jokin jonka jos jossa "
        "joten jotka jotta kanssa keitä ken kenen kuin kuinka kuka kun me meidän mihin miksi "
        "mikä milloin millä minkä minun minä missä mitkä mitä mukaan mutta myös ne niiden "
        "niin niitä nyt näiden näitä nämä olemme olen olet olette oli olimme olin olisi olit "
        "olivat olla ollut on ovat poikki se sekä sen siihen siinä siitä sillä sinun sinä "
        "sitä tai te teidän tuo tämä tämän tässä tätä vaan vai vaikka voi"
    ),
    "french": (
        "ai ainsi alors au aucun aussi autre aux avait avec avez avoir avons c car ce cela "
        "ces cet cette ceux chaque ci comme comment d dans de des donc dont du elle elles en "
        "encore entre est et eu eux fait fut ici il ils j je jusqu l la le les leur leurs "
        "lorsque lui là m ma mais me mes moi mon même n ne ni nos notre nous on ont ou où par "
        "parce pas peu peut plus pour pourquoi puis qu quand que quel quelle quelles quels "
        "qui quoi s sa sans se sera ses si soit son sont sous sur t ta te tes toi ton tous "
        "tout toute toutes très tu un une vers vos votre vous y à ça étaient était été être"
    ),
    "german": (
        "aber alle allem allen aller alles als also am an ander andere anderem anderen "
        "anderer anderes auch auf aus bei beim bin bis bist da dadurch daher damit dann das "
        "dass daß dein deine dem den denn der deren des dessen die dies diese diesem diesen "
        "dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch "
        "euer eure für gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen "
        "ihr ihre ihrem ihren ihrer ihres im in indem ins ist ja jede jedem jeden jeder jedes "
        "jene jetzt kann kein keine keinem keinen keiner können könnte man manche mehr mein "
        "meine mich mir mit muss muß müssen nach nicht nichts noch nun nur ob oder ohne sehr "
        "sein seine seinem seinen seiner seines seit sich sie sind so solche soll sollte "
        "sondern sonst um und uns unser unsere unter viel vom von vor wann war waren warum "
        "was weil welche welchem welchen welcher welches wenn wer werde werden wie wieder "
        "will wir wird wirst wo wurde wurden während zu zum zur zwar zwischen über"
    ),
    "italian": (
        "a abbia abbiamo ad agli ai al alla alle allo anche ancora avere aveva avevano c che "
        "chi ci ciò come con contro cosa cui d da dagli dai dal dalla dalle dallo de degli "
        "dei del dell della delle dello di dopo dove e ed era erano essere fa fra fu gli ha "
        "hai hanno ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio molto "
        "ne negli nei nel nell nella nelle nello noi non nostra nostro o ogni oppure per "
        "perché più poi quale quali quando quanto quella quelle quelli quello questa queste "
        "questi questo qui se sei senza si sia siamo solo sono sopra sotto sta stata stati "
        "stato su sua sue sugli sui sul sulla sulle suo suoi te ti tra tu tua tuo tutta tutti "
        "tutto un una uno vi voi è"
    ),
    "norwegian": (
        "alle andre at av bare begge ble blei bli blir både da de deg dei deira deires dem "
        "den denne der deres det dette din disse ditt du eg ein eit eller en enn er et ett "
        "etter for fordi fra før ha hadde han hans har hennes her hos hun hva hvem hver "
        "hvilken hvis hvor hvordan hvorfor i ikke ikkje ingen inn ja jeg kan korleis kunne "
        "man mange med meg mellom men mer mi min mitt mot mye må ned no noe noen nå når og "
        "også om opp oss over på seg sin sine sitt skal skulle slik som så til um under ut "
        "uten var vart ved vi vil ville vår være vært å"
    ),
    "portuguese": (
        "a ainda ao aos aquela aquele aqueles aqui as até cada com como da das de dela dele "
        "deles depois desde dessa desse desta deste do dos e ela elas ele eles em enquanto "
        "entre era eram essa essas esse esses esta estas estava este estes está estão eu foi "
        "foram há isso isto já lhe lhes lo mais mas me mesmo meu meus minha muito na nas nem "
        "nessa nesta neste no nos nossa nosso num numa não nós o onde os ou outra outro para "
        "pela pelas pelo pelos por porque quais qual quando que quem se seja sem ser será seu "
        "seus sob sobre sua suas são só também te tem tinha toda todas todo todos tu têm um "
        "uma umas uns você vocês vos à às é"
    ),
    "russian": (
        "а без более был была были было быть в вам вас весь во вот все всего всех вы где да "
        "даже для до его ее ей ему если есть еще ж же за здесь и из или им их к как какая "
        "какой когда которая которые который которых кто ли либо между меня мне мной может "
        "мой моя мы на над надо нам нас наш не него нее ней нет ни них но ну о об обо однако "
        "он она они оно от по под после потому почему при про раз с сам свой свою себе себя "
        "со так также такой там те тем то того тоже той только том ты у уже хотя чего чей чем "
        "что чтобы чье чья эта эти этих это этого этой этом этот эту я"
    ),
    "spanish": (
        "a al algo algunos ante antes aquel aquella así aunque cada como con contra cual "
        "cuando cuyo cuál cuándo cómo de del desde donde dos durante dónde e el ella ellas "
        "ellos en entre era eran es esa esas ese eso esos esta estas este esto estos está "
        "están fue fueron ha había habían hace han hasta hay he la las le les lo los me mi "
        "mientras mis mucho muchos muy más mí nada ni no nos nosotros nuestra nuestro o os "
        "otra otras otro otros para pero poco por porque pues que quien quienes quién qué se "
        "sea según ser si sido sin sino sobre son su sus suya suyo sí también tan tanto te "
        "tiene tienen toda todas todo todos tras tu tus tú un una unas uno unos usted ustedes "
        "vosotros y ya yo él"
    ),
    "swedish": (
        "alla allt alltså att av bara blev bli blir blivit de dem den denna deras dess dessa "
        "det detta dig din dina ditt du där då efter ej eller en er era ert ett från för ha "
        "hade han hans har henne hennes hon honom hur här i icke in ingen inom inte jag ju "
        "kan kunde man med mellan men mig min mina mitt mot mycket ni nu när någon något "
        "några och också om oss på samma sedan sig sin sina sitt ska skall skulle som så "
        "sådan till under upp ut utan vad var vara varför varit varje vars vart vem vi vid "
        "vilka vilken vilket vill vår våra vårt är åt över"
    ),
}
"""By language, the words, lower case, separated by spaces."""
