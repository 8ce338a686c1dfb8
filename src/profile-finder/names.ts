import { folded } from '../clinic/http/rows.ts';
import type { AppointmentStatus } from '../model/records.ts';

/** Names or words in a text, the likeliest first. All are folded: without case, spaces, hyphens and underscores. */
const words = (text: string): readonly string[] => text.split(' ');

/**
 * Names under which clinic systems are known to keep what we call otherwise, English and Italian. A nested name is joined:
 * `patient.id` is `patientid`.
 */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  id: words('uuid guid identifier identificativo objectid'),
  name: words('nome title label denominazione descrizione displayname fullname ragionesociale'),
  agendaId: words('agenda calendarid calendar idagenda agendauuid scheduleid resourceid idcalendario calendarioid'),
  locationId: words('location siteid site idsede sedeid sede clinicid officeid branchid facilityid ambulatorioid'),
  patientId: words('patient idpaziente pazienteid paziente customerid clientid subjectid'),
  patientFirstName: words('patientgivenname patientname pazientenome nomepaziente clientfirstname'),
  patientLastName: words('patientsurname patientfamilyname pazientecognome cognomepaziente clientlastname'),
  doctorId: words('doctor practitionerid physicianid providerid idmedico medicoid medico operatorid'),
  treatmentId: words(
    'treatment serviceid service idprestazione prestazioneid prestazione appointmenttypeid visittypeid procedureid productid',
  ),
  priceListId: words('pricelist listpriceid tariffid idlistino listinoid listino'),
  episodeId: words('episode caseid idepisodio episodioid encounterid'),
  appointmentId: words('appointment bookingid idappuntamento appuntamentoid prenotazioneid'),
  start: words(
    'starts startsat startat starttime startdatetime startdate begin beginsat begintime from inizio datainizio orainizio dataorainizio scheduledat scheduledstart datetimestart starton',
  ),
  end: words(
    'ends endsat endat endtime enddatetime enddate finish finishesat to fine datafine orafine dataorafine scheduledend datetimeend endon',
  ),
  duration: words(
    'durationminutes lengthminutes length durata durataminuti minutes durationseconds durationinseconds duratasecondi',
  ),
  durationMinutes: words('duration lengthminutes length durata durataminuti minutes'),
  startAt: words('start starts startsat starttime startdatetime begin from inizio datainizio orainizio dataorainizio'),
  endAt: words('end ends endsat endtime enddatetime finish to fine datafine orafine dataorafine'),
  allDay: words('isallday wholeday fullday tuttoilgiorno giornointero'),
  status: words('state stato statuscode statocodice appointmentstatus bookingstatus situation'),
  statusReason: words('reason cancellationreason cancelreason motivo motivoannullamento'),
  confirmedAt: words('confirmedon dataconferma'),
  checkedInAt: words('checkinat arrivedat arrivaltime acceptedat dataaccettazione'),
  cancelledAt: words('canceledat cancelledon canceledon deletedat dataannullamento'),
  isPaid: words('paid pagato saldato'),
  updatedAt: words(
    'modifiedat updatedon modifiedon lastmodified lastmodifiedat lastupdate lastupdated changedat datamodifica ultimamodifica',
  ),
  createdAt: words('createdon insertedat created datacreazione datainserimento'),
  notes: words('note comment comments remarks annotazioni osservazioni memo'),
  source: words('origin channel origine provenienza'),
  externalId: words('externalref externalreference foreignid idesterno riferimentoesterno'),
  firstName: words('givenname forename nome name'),
  lastName: words('surname familyname cognome'),
  taxCode: words('fiscalcode codicefiscale cf taxid taxnumber'),
  vatNumber: words('vat vatid vatcode partitaiva piva'),
  birthDate: words('dateofbirth dob birthday datanascita datadinascita'),
  birthPlace: words('placeofbirth luogonascita luogodinascita comunenascita'),
  gender: words('sex sesso genere'),
  email: words('emailaddress mail postaelettronica indirizzoemail'),
  certifiedEmail: words('pec indirizzopec'),
  phone: words('phonenumber telephone tel telefono landline homephone'),
  mobilePhone: words('mobile mobilenumber cell cellphone cellulare telefonocellulare'),
  language: words('lang locale lingua'),
  street: words('addressstreet line1 addressline1 address1 streetaddress indirizzo via'),
  postalCode: words('zip zipcode postcode cap addresspostalcode codicepostale'),
  city: words('town locality comune citta addresscity localita'),
  province: words('state region county provincia addressprovince'),
  country: words('countrycode nazione paese stato addresscountry'),
  zone: words('timezone tz fusoorario'),
  isActive: words('active enabled isenabled attivo attiva abilitato'),
  isBookableOnline: words('bookableonline onlinebooking bookable prenotabileonline'),
  slotMinutes: words('slotduration slotlength slot durataslot'),
  type: words('kind tipo tipologia'),
  code: words('codice shortname sigla'),
  description: words('descrizione text'),
  category: words('group categoria branca'),
  price: words('amount unitprice prezzo importo tariffa'),
  currency: words('currencycode valuta'),
  vatRate: words('vatpercentage taxrate aliquota aliquotaiva iva'),
  amount: words('value total importo'),
  method: words('paymentmethod type metodo modalita'),
  reference: words('ref riferimento'),
  paidAt: words('paidon paymentdate datapagamento'),
  businessName: words('companyname name ragionesociale denominazione'),
  website: words('url site sito sitoweb'),
  address: words('indirizzo'),
};

/** Known names of a field of ours; the likeliest first. */
export function commonNames(field: string): readonly string[] {
  return [folded(field), ...(FIELDS[field] ?? [])];
}

/** Names of a field that holds the whole name of a patient. */
export const WHOLE_NAMES = {
  patients: words('fullname name displayname completename nominativo nomecompleto cognomenome nomecognome'),
  appointments: words(
    'patientname patientfullname patientdisplayname patientcompletename clientname customername nominativo nominativopaziente patientnominativo pazientenominativo pazientenomecompleto',
  ),
};

/** What an envelope and a failure hold, by the last name of a path. */
export const ENVELOPE = {
  lists: words('data items results value rows records content elements list entries elenco risultati dati'),
  hasMore: words('hasmore hasnext hasnextpage more morepages altri'),
  totals: words(
    'total totalcount totalitems totalelements totalresults totalrows totalrecords totalentries totale totalerecord recordcount',
  ),
  cursors: words('nextcursor cursor nextpagetoken nexttoken continuationtoken continuation endcursor'),
  links: words('next nextlink nextpage nextpageurl nexturl nexthref'),
  codePaths: words('error code errorcode errorkey type title codice'),
  textPaths: words('message errormessage errordescription detail text description msg messaggio descrizione'),
};

/** Names of parameters that are no window, without brackets and dollar signs. */
export const PARAMETERS = {
  offset: words('offset pageoffset skip startindex startrow firstresult first'),
  page: words('page pagenumber pageindex pageno pagina numeropagina p currentpage'),
  cursor: words(
    'cursor pagecursor after pageafter pagetoken continuation continuationtoken startingafter nextcursor nexttoken',
  ),
  size: words(
    'limit pagelimit take pagesize perpage size top count maxresults max rows pagelength itemsperpage numrows righeperpagina dimensionepagina',
  ),
  agenda: words(
    'agendaid agendaids agenda agendas calendarid calendarids calendar calendars resourceid resourceids idagenda idagende scheduleid',
  ),
  includesHidden: words(
    'includecancelled includecanceled withcancelled withcanceled showcancelled showcanceled includedeleted showdeleted includeall showall includiannullati',
  ),
  changedSince: words(
    'updatedsince modifiedsince changedsince updatedafter modifiedafter changedafter updatedfrom modifiedfrom lastmodified lastupdated lastupdate ifmodifiedsince modificatidal modificatodal aggiornatidal aggiornatodal',
  ),
};

/** Words of clinic systems for a status; English, Italian, FHIR (hl7.org/fhir/R4/valueset-appointmentstatus.html). */
const STATUS_WORDS: Readonly<Record<Exclude<AppointmentStatus, 'unknown'>, readonly string[]>> = {
  booked: words(
    'booked scheduled planned pending new open reserved requested proposed waitlist prenotato prenotata programmato programmata pianificato inserito fissato dafare',
  ),
  confirmed: words('confirmed accepted confermato confermata'),
  arrived: words(
    'arrived checkedin waiting present inwaitingroom arrivato arrivata accettato accettata inattesa insala presente presentato',
  ),
  in_progress: words('inprogress incare started ongoing invisit incorso incura iniziato iniziata incarico'),
  completed: words(
    'completed done fulfilled finished closed executed checkedout seen eseguito eseguita completato completata concluso conclusa terminato terminata erogato erogata effettuato evaso chiuso',
  ),
  cancelled: words(
    'cancelled canceled deleted revoked rejected enteredinerror void annullato annullata disdetto disdetta cancellato cancellata eliminato eliminata rifiutato',
  ),
  no_show: words(
    'noshow absent missed didnotarrive notarrived nonpresentato nonpresentata assente nonvenuto mancato noncomparso',
  ),
};

/** The status that a word of a clinic is known to mean; null for a word that is not known. */
export function statusOfWord(word: string): AppointmentStatus | null {
  const found = Object.entries(STATUS_WORDS).find(([, synonyms]) => synonyms.includes(folded(word)));
  return (found?.[0] as AppointmentStatus | undefined) ?? null;
}

/** Fields that override a status, in the order in which they do. */
export const FLAGS: readonly {
  names: readonly string[];
  status: AppointmentStatus;
  over: AppointmentStatus[] | null;
}[] = [
  { names: words('confirmed isconfirmed confirmedat confirmedon confermato'), status: 'confirmed', over: ['booked'] },
  {
    names: words('arrived hasarrived arrivedat checkedin ischeckedin checkedinat checkinat accettato patientarrived'),
    status: 'arrived',
    over: ['booked', 'confirmed'],
  },
  { names: words('didnotarrive noshow isnoshow missed patientmissed absent assente'), status: 'no_show', over: null },
  {
    names: words(
      'cancelled canceled iscancelled iscanceled cancelledat canceledat cancelledon annullato dataannullamento',
    ),
    status: 'cancelled',
    over: null,
  },
];

/** Other words for the words of our choices. */
export const CHOICE_WORDS: Readonly<Record<string, readonly string[]>> = {
  M: words('male man maschio uomo'),
  F: words('female woman femmina donna'),
  Other: words('x o altro'),
  Unknown: words('u nonspecificato sconosciuto'),
  Doctor: words('physician practitioner medico dottore'),
  Resource: words('room device risorsa stanza'),
  Workstation: words('desk postazione'),
  Service: words('procedure prestazione servizio'),
  Product: words('article prodotto articolo'),
  FrontDesk: words('desk reception segreteria sportello'),
  Online: words('web portal portale'),
  Api: words('integration esterno'),
};

/** Other words for what stands in our paths. No profile can say them; an operator can. */
export const PATH_WORDS: Readonly<Record<string, readonly string[]>> = {
  appointments: words('bookings visits events appuntamenti prenotazioni'),
  patients: words('clients customers persons pazienti assistiti'),
  agendas: words('calendars schedules resources calendari'),
  locations: words('sites offices branches facilities sedi'),
  treatments: words('services procedures products prestazioni'),
  invoices: words('bills documents fatture'),
  availabilities: words('slots availability disponibilita'),
};

/** Objects whose name adds nothing to the names in them. */
const TRANSPARENT = words(
  'address indirizzo attributes properties contact contacts contatti recapiti anagrafica personaldata times orario data',
);

/** The folded names under which a path may be known: its names joined, and the last alone where those before say nothing. */
export function namesOfPath(path: string): string[] {
  const parts = path.split('.').map(folded);
  const joined = parts.join('');
  const last = parts.at(-1) ?? '';
  return parts.length > 1 && parts.slice(0, -1).every((part) => TRANSPARENT.includes(part)) ? [joined, last] : [joined];
}

/** What a parameter says of a window by its name: which end of it, and whether of the appointments' own start. */
export interface WindowName {
  end: 'from' | 'to';
  /** It speaks of the start of appointments, as `starts_from` does: it lists what starts in the window, not what overlaps it. */
  isOfStart: boolean;
}

/** Words that tell an end of a window, and words that tell one by themselves only. English and Italian, and of comparisons (`start[gte]`). */
const WINDOW_WORDS = {
  from: words('from after since min minimum gte gt ge dal dopo da'),
  to: words('to until till before max maximum lte lt le al prima fino'),
  start: words('start starts starting begin begins beginning inizio'),
  end: words('end ends ending finish fine'),
  /** Other times of a row than those of the appointment itself, and other things than times. */
  others: words(
    'created updated modified changed inserted cancelled canceled deleted confirmed paid birth offset index row page limit size price amount age creato modificato aggiornato',
  ),
};
/** Joined words, as `datefrom`, `timemin` and `datainizio` are written. */
const JOINED = /(date|time|data|ora|starts|start|ends|end|inizio|fine|dal|al|from|to|after|before|min|max|since|until)/;

/** Reads a parameter's name; null if it speaks of no window. */
export function windowNameOf(name: string): WindowName | null {
  const parts = partsOf(name);
  const has = (kind: keyof typeof WINDOW_WORDS) => parts.some((part) => WINDOW_WORDS[kind].includes(part));
  if (has('others')) return null;
  const [isFrom, isTo, isStart, isEnd] = [has('from'), has('to'), has('start'), has('end')];
  if (isFrom !== isTo) return { end: isFrom ? 'from' : 'to', isOfStart: isStart };
  if (isFrom || isStart === isEnd) return null;
  return { end: isStart ? 'from' : 'to', isOfStart: false };
}

/** `startsFrom`, `starts_from`, `starts[from]` and `startfrom` as `starts`, `from`. */
function partsOf(name: string): string[] {
  const spaced = name.replaceAll(/([a-z\d])([A-Z])/g, '$1 $2');
  const parts = spaced.split(/[^\p{L}\d]+/u).map(folded);
  return parts.flatMap((part) => {
    const pieces = part.split(JOINED).filter((piece) => piece !== '');
    return pieces.every((piece) => piece.match(JOINED)?.[0] === piece) ? pieces : [part];
  });
}
