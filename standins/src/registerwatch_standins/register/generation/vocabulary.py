"""The words of generated trade names: kinds of device and descriptors in eight languages.

One line per kind: group, risk class under the regulation, EMDN code, measure, and the noun in the order of
`LANGUAGES`. Descriptors stand from the most common to the rarest: they are drawn by that order, so that a few
words are everywhere.
"""

from msgspec import Struct

LANGUAGES = ("en", "de", "fr", "it", "es", "pl", "el", "bg")


class Kind(Struct, frozen=True):
    """A kind of device."""

    group: str
    risk: str
    emdn: str
    measure: str
    nouns: dict[str, str]


_KINDS = """
bone|class-i|P0912|none|Screwdriver|Schraubendreher|Tournevis|Cacciavite|Destornillador|Śrubokręt|Κατσαβίδι|Отвертка
bone|class-i|L0911|none|Instrument tray|Instrumentensieb|Plateau à instruments|Vassoio strumenti|Bandeja de instrumental|Taca na narzędzia|Δίσκος εργαλείων|Табла за инструменти
bone|class-i|L0910|diameter|Drill guide|Bohrbüchse|Guide de perçage|Guida per trapano|Guía de broca|Prowadnica wiertła|Οδηγός τρυπανιού|Водач за свредло
bone|class-i|P0910|mm|Trial implant set|Probeimplantat-Set|Set d'implants d'essai|Set impianto di prova|Set de implantes de prueba|Zestaw implantów próbnych|Σετ δοκιμαστικών εμφυτευμάτων|Сет пробни импланти
bone|class-iia|L0911|diameter|Drill bit|Spiralbohrer|Foret|Punta da trapano|Broca|Wiertło|Τρυπάνι|Свредло
bone|class-iib|P091203|screw|Cortical screw|Kortikalisschraube|Vis corticale|Vite corticale|Tornillo cortical|Śruba korowa|Φλοιώδης βίδα|Кортикален винт
bone|class-iib|P091204|screw|Locking screw|Verriegelungsschraube|Vis de verrouillage|Vite di bloccaggio|Tornillo de bloqueo|Śruba blokująca|Βίδα ασφάλισης|Заключващ винт
bone|class-iib|P09070101|screw|Pedicle screw|Pedikelschraube|Vis pédiculaire|Vite peduncolare|Tornillo pedicular|Śruba przeznasadowa|Διαυχενική βίδα|Педикуларен винт
bone|class-iib|P091205|plate|Locking plate|Verriegelungsplatte|Plaque verrouillée|Placca di bloccaggio|Placa de bloqueo|Płytka blokowana|Πλάκα ασφάλισης|Заключваща плака
bone|class-iib|P091299|wire|Kirschner wire|Kirschner-Draht|Broche de Kirschner|Filo di Kirschner|Aguja de Kirschner|Drut Kirschnera|Σύρμα Kirschner|Киршнерова игла
bone|class-iib|P090703|mm|Cervical cage|Zervikaler Cage|Cage cervicale|Gabbia cervicale|Caja cervical|Klatka szyjna|Αυχενικός κλωβός|Шиен кейдж
bone|class-iii|P0908|size|Hip stem|Hüftschaft|Tige fémorale|Stelo femorale|Vástago femoral|Trzpień biodrowy|Μηριαίο στέλεχος|Бедрено стебло
bone|class-iii|P0909|size|Knee tibial insert|Knie-Tibiaeinsatz|Insert tibial du genou|Inserto tibiale del ginocchio|Inserto tibial de rodilla|Wkładka piszczelowa kolana|Κνημιαίο ένθεμα γόνατος|Тибиална вложка за коляно
dental|class-i|Q0103|size|Impression tray|Abformlöffel|Porte-empreinte|Portaimpronta|Cubeta de impresión|Łyżka wyciskowa|Δισκάριο αποτύπωσης|Отпечатъчна лъжица
dental|class-i|Q0101|none|Mouth mirror|Mundspiegel|Miroir dentaire|Specchietto dentale|Espejo dental|Lusterko stomatologiczne|Οδοντιατρικό κάτοπτρο|Стоматологично огледалце
dental|class-i|Q0104|pack|Modelling wax|Modellierwachs|Cire à modeler|Cera per modellazione|Cera para modelar|Wosk modelowy|Κερί διαμόρφωσης|Моделажен восък
dental|class-i|Q0102|diameter|Diamond bur|Diamantschleifer|Fraise diamantée|Fresa diamantata|Fresa de diamante|Wiertło diamentowe|Διαμαντένια φρέζα|Диамантен борер
dental|class-iia|Q010601|shade|Composite|Komposit|Composite|Composito|Composite|Kompozyt|Σύνθετη ρητίνη|Композит
dental|class-iia|Q010602|shade|Zirconia disc|Zirkonoxid-Rohling|Disque en zircone|Disco in zirconia|Disco de circonio|Krążek cyrkonowy|Δίσκος ζιρκονίας|Циркониев диск
dental|class-iia|Q010699|pack|Orthodontic bracket|Kieferorthopädisches Bracket|Bracket orthodontique|Bracket ortodontico|Bracket de ortodoncia|Zamek ortodontyczny|Ορθοδοντικό άγκιστρο|Ортодонтски брекет
dental|class-iib|P0102|screw|Dental implant|Zahnimplantat|Implant dentaire|Impianto dentale|Implante dental|Implant zębowy|Οδοντικό εμφύτευμα|Зъбен имплант
dental|class-iib|P010299|mm|Abutment|Abutment|Pilier|Moncone|Pilar|Łącznik|Κολόβωμα|Надстройка
surgery|class-i|L0312|length|Tissue forceps|Gewebepinzette|Pince à tissus|Pinza per tessuti|Pinza de tejidos|Pinceta tkankowa|Λαβίδα ιστών|Тъканна пинсета
surgery|class-i|L0318|length|Dissecting scissors|Präparierschere|Ciseaux à dissection|Forbici da dissezione|Tijeras de disección|Nożyczki preparacyjne|Ψαλίδι παρασκευής|Дисекционна ножица
surgery|class-i|L1199|length|Retractor|Wundhaken|Écarteur|Divaricatore|Separador|Hak chirurgiczny|Άγκιστρο|Ретрактор
surgery|class-i|L1602|length|Needle holder|Nadelhalter|Porte-aiguille|Portaaghi|Portaagujas|Imadło|Βελονοκάτοχο|Иглодържател
surgery|class-i|T0201|size|Surgical gown|OP-Mantel|Casaque chirurgicale|Camice chirurgico|Bata quirúrgica|Fartuch chirurgiczny|Χειρουργική ποδιά|Хирургическа престилка
surgery|class-i|T0299|area|Surgical drape|OP-Abdecktuch|Champ opératoire|Telo chirurgico|Paño quirúrgico|Serweta chirurgiczna|Χειρουργικό πεδίο|Операционен чаршаф
surgery|class-iia|K01020110|screw|Trocar|Trokar|Trocart|Trocar|Trocar|Trokar|Τροκάρ|Троакар
surgery|class-iia|V0101|number|Scalpel blade|Skalpellklinge|Lame de bistouri|Lama per bisturi|Hoja de bisturí|Ostrze skalpela|Λεπίδα νυστεριού|Острие за скалпел
surgery|class-iia|A0605|french|Suction catheter|Absaugkatheter|Sonde d'aspiration|Catetere di aspirazione|Sonda de aspiración|Cewnik do odsysania|Καθετήρας αναρρόφησης|Аспирационен катетър
surgery|class-iib|H0203|mm|Linear stapler|Linearer Klammernahtapparat|Agrafeuse linéaire|Suturatrice lineare|Grapadora lineal|Stapler liniowy|Γραμμικός συρραπτήρας|Линеен ушивател
surgery|class-iib|K0202|length|Bipolar electrode|Bipolare Elektrode|Électrode bipolaire|Elettrodo bipolare|Electrodo bipolar|Elektroda bipolarna|Διπολικό ηλεκτρόδιο|Биполярен електрод
surgery|class-iii|H0101|suture|Absorbable suture|Resorbierbares Nahtmaterial|Suture résorbable|Sutura riassorbibile|Sutura absorbible|Nić wchłanialna|Απορροφήσιμο ράμμα|Резорбируем конец
surgery|class-iii|P9002|area|Hernia mesh|Herniennetz|Treillis herniaire|Rete per ernia|Malla para hernia|Siatka przepuklinowa|Πλέγμα κήλης|Мрежа за херния
wound|class-i|M040101|area|Wound plaster|Wundpflaster|Pansement adhésif|Cerotto|Apósito adhesivo|Plaster|Αυτοκόλλητος επίδεσμος|Пластир
wound|class-i|M0202|area|Gauze compress|Mullkompresse|Compresse de gaze|Compressa di garza|Compresa de gasa|Kompres gazowy|Γάζα|Марлен компрес
wound|class-i|M030401|width|Elastic bandage|Elastische Binde|Bande élastique|Benda elastica|Venda elástica|Opaska elastyczna|Ελαστικός επίδεσμος|Еластичен бинт
wound|class-i|M030301|size|Knee support|Kniebandage|Genouillère|Ginocchiera|Rodillera|Opaska na kolano|Επιγονατίδα|Наколенка
wound|class-iib|M04040301|area|Foam dressing|Schaumverband|Pansement hydrocellulaire|Medicazione in schiuma|Apósito de espuma|Opatrunek piankowy|Αφρώδες επίθεμα|Пянообразна превръзка
wound|class-iib|M04040701|area|Hydrocolloid dressing|Hydrokolloidverband|Pansement hydrocolloïde|Medicazione idrocolloidale|Apósito hidrocoloide|Opatrunek hydrokoloidowy|Υδροκολλοειδές επίθεμα|Хидроколоидна превръзка
aids|class-i|Y122106|seat|Wheelchair|Rollstuhl|Fauteuil roulant|Carrozzina|Silla de ruedas|Wózek inwalidzki|Αναπηρικό αμαξίδιο|Инвалидна количка
aids|class-i|Y120606|none|Rollator|Rollator|Déambulateur|Deambulatore|Andador|Chodzik|Περιπατητήρας|Ролатор
aids|class-i|Y063303|size|Compression stocking|Kompressionsstrumpf|Bas de compression|Calza a compressione|Media de compresión|Pończocha uciskowa|Κάλτσα συμπίεσης|Компресионен чорап
aids|class-i|Y0306|size|Wrist orthosis|Handgelenkorthese|Orthèse de poignet|Ortesi di polso|Órtesis de muñeca|Orteza nadgarstka|Νάρθηκας καρπού|Ортеза за китка
aids|class-i|T04010103|size|Incontinence pants|Inkontinenzhose|Culotte d'incontinence|Pannolone a mutandina|Pañal braga|Majtki chłonne|Πάνα ακράτειας|Гащи за инконтиненция
aids|class-i|V0811|seat|Hospital bed|Pflegebett|Lit médicalisé|Letto ospedaliero|Cama hospitalaria|Łóżko szpitalne|Νοσοκομειακή κλίνη|Болнично легло
aids|class-i|Y1236|size|Patient sling|Hebetuch|Sangle de lève-personne|Imbracatura sollevamalati|Arnés de grúa|Podwieszka do podnośnika|Ιμάντας ανύψωσης ασθενούς|Сапан за пациенти
flow|class-i|T0102|size|Examination glove|Untersuchungshandschuh|Gant d'examen|Guanto da esame|Guante de examen|Rękawica diagnostyczna|Εξεταστικό γάντι|Ръкавица за преглед
flow|class-i|A06030301|volume|Urine bag|Urinbeutel|Poche à urine|Sacca urina|Bolsa de orina|Worek na mocz|Ουροσυλλέκτης|Уринаторна торба
flow|class-i|A0201|volume|Syringe|Spritze|Seringue|Siringa|Jeringa|Strzykawka|Σύριγγα|Спринцовка
flow|class-iia|A0101|gauge|Hypodermic needle|Injektionskanüle|Aiguille hypodermique|Ago ipodermico|Aguja hipodérmica|Igła iniekcyjna|Υποδερμική βελόνα|Инжекционна игла
flow|class-iia|A0301|length|Infusion set|Infusionsset|Set de perfusion|Set per infusione|Equipo de infusión|Zestaw infuzyjny|Σετ έγχυσης|Инфузионна система
flow|class-iia|U010199|french|Foley catheter|Foley-Katheter|Sonde de Foley|Catetere di Foley|Sonda Foley|Cewnik Foleya|Καθετήρας Foley|Катетър на Фоли
flow|class-iia|R0101|mm|Tracheal tube|Endotrachealtubus|Sonde trachéale|Tubo tracheale|Tubo traqueal|Rurka intubacyjna|Τραχειοσωλήνας|Ендотрахеална тръба
flow|class-iib|A0303|volume|Infusion pump|Infusionspumpe|Pompe à perfusion|Pompa per infusione|Bomba de infusión|Pompa infuzyjna|Αντλία έγχυσης|Инфузионна помпа
flow|class-iib|Z1203|none|Patient monitor|Patientenmonitor|Moniteur patient|Monitor paziente|Monitor de paciente|Monitor pacjenta|Μόνιτορ ασθενούς|Пациентен монитор
flow|class-iii|P0704|screw|Coronary stent|Koronarstent|Stent coronaire|Stent coronarico|Stent coronario|Stent wieńcowy|Στεφανιαίο stent|Коронарен стент
flow|class-iii|C0104|wire|Guide wire|Führungsdraht|Fil-guide|Filo guida|Guía|Prowadnik|Οδηγό σύρμα|Водач
lab|class-a|W0202|none|Analyser|Analysegerät|Analyseur|Analizzatore|Analizador|Analizator|Αναλυτής|Анализатор
lab|class-a|W0105|volume|Buffer solution|Pufferlösung|Solution tampon|Soluzione tampone|Solución tampón|Roztwór buforowy|Ρυθμιστικό διάλυμα|Буферен разтвор
lab|class-a|W0503|volume|Specimen container|Probengefäß|Récipient pour prélèvement|Contenitore per campioni|Recipiente para muestras|Pojemnik na próbki|Δοχείο δειγμάτων|Съд за проби
lab|class-b|W0101|tests|Cholesterol test|Cholesterin-Test|Test de cholestérol|Test colesterolo|Test de colesterol|Test na cholesterol|Τεστ χοληστερόλης|Тест за холестерол
lab|class-c|W0102|tests|Cardiac troponin assay|Herz-Troponin-Assay|Dosage de troponine cardiaque|Dosaggio troponina cardiaca|Ensayo de troponina cardíaca|Oznaczenie troponiny sercowej|Δοκιμασία τροπονίνης|Тест за тропонин
lab|class-d|W0104|tests|Hepatitis B antigen test|Hepatitis-B-Antigentest|Test antigénique hépatite B|Test antigene epatite B|Test de antígeno hepatitis B|Test antygenowy WZW B|Τεστ αντιγόνου ηπατίτιδας Β|Тест за антиген на хепатит В
"""  # noqa: E501

_DESCRIPTORS = """
sterile|steril|stérile|sterile|estéril|sterylny|αποστειρωμένο|стерилен
set|Set|set|set|set|zestaw|σετ|комплект
titanium|Titan|titane|titanio|titanio|tytan|τιτάνιο|титан
non-sterile|unsteril|non stérile|non sterile|no estéril|niesterylny|μη αποστειρωμένο|нестерилен
standard|Standard|standard|standard|estándar|standard|τυπικό|стандартен
small|klein|petit|piccolo|pequeño|mały|μικρό|малък
large|groß|grand|grande|grande|duży|μεγάλο|голям
blue|blau|bleu|blu|azul|niebieski|μπλε|син
left|links|gauche|sinistro|izquierdo|lewy|αριστερό|ляв
right|rechts|droit|destro|derecho|prawy|δεξί|десен
single-use|Einmalgebrauch|usage unique|monouso|un solo uso|jednorazowy|μίας χρήσης|за еднократна употреба
reusable|wiederverwendbar|réutilisable|riutilizzabile|reutilizable|wielorazowy|επαναχρησιμοποιούμενο|за многократна употреба
curved|gebogen|courbe|curvo|curvo|zakrzywiony|κυρτό|извит
straight|gerade|droit|retto|recto|prosty|ευθύ|прав
stainless steel|Edelstahl|acier inoxydable|acciaio inox|acero inoxidable|stal nierdzewna|ανοξείδωτος χάλυβας|неръждаема стомана
with valve|mit Ventil|avec valve|con valvola|con válvula|z zaworem|με βαλβίδα|с клапан
soft|weich|souple|morbido|blando|miękki|μαλακό|мек
long|lang|long|lungo|largo|długi|μακρύ|дълъг
short|kurz|court|corto|corto|krótki|κοντό|къс
cannulated|kanüliert|canulé|cannulato|canulado|kaniulowany|αυλοφόρο|канюлиран
silver|silber|argent|argento|plata|srebrny|ασημί|сребърен
paediatric|pädiatrisch|pédiatrique|pediatrico|pediátrico|pediatryczny|παιδιατρικό|педиатричен
adult|Erwachsene|adulte|adulto|adulto|dla dorosłych|ενηλίκων|за възрастни
black|schwarz|noir|nero|negro|czarny|μαύρο|черен
coated|beschichtet|revêtu|rivestito|recubierto|powlekany|επικαλυμμένο|с покритие
self-tapping|selbstschneidend|autotaraudant|autofilettante|autorroscante|samogwintujący|αυτοκοχλιούμενο|самонарезен
green|grün|vert|verde|verde|zielony|πράσινο|зелен
latex-free|latexfrei|sans latex|senza lattice|sin látex|bez lateksu|χωρίς λάτεξ|без латекс
absorbent|saugfähig|absorbant|assorbente|absorbente|chłonny|απορροφητικό|абсорбиращ
transparent|transparent|transparent|trasparente|transparente|przezroczysty|διαφανές|прозрачен
light|leicht|léger|leggero|ligero|lekki|ελαφρύ|лек
extra strong|extra stark|extra fort|extra forte|extra fuerte|bardzo mocny|εξαιρετικά ισχυρό|екстра здрав
polyaxial|polyaxial|polyaxial|poliassiale|poliaxial|poliaksjalny|πολυαξονικό|полиаксиален
child|Kind|enfant|bambino|niño|dziecko|παιδί|дете
with needle|mit Nadel|avec aiguille|con ago|con aguja|z igłą|με βελόνα|с игла
bowel surgery|Darmchirurgie|chirurgie intestinale|chirurgia intestinale|cirugía intestinal|chirurgia jelit|χειρουργική εντέρου|чревна хирургия
"""  # noqa: E501


def _read_kinds() -> tuple[Kind, ...]:
    kinds = []
    for line in _KINDS.strip().splitlines():
        group, risk, emdn, measure, *nouns = line.split("|")
        kinds.append(Kind(group, risk, emdn, measure, dict(zip(LANGUAGES, nouns, strict=True))))
    return tuple(kinds)


KINDS = _read_kinds()
_COLUMNS = zip(*(line.split("|") for line in _DESCRIPTORS.strip().splitlines()), strict=True)
DESCRIPTORS: dict[str, tuple[str, ...]] = dict(zip(LANGUAGES, _COLUMNS, strict=True))
