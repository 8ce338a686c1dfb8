import { folded } from '../../clinic/http/rows.ts';
import type { AppointmentStatus } from '../../core/model/records.ts';

/** Splits names or words, most likely first. All are folded: without case, spaces, hyphens and underscores. */
const words = (text: string): readonly string[] => text.split(' ');

/** Known names of fields in clinic systems, English and Italian. Nested names are joined: `patient.id` is `patientid`. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  id: words('uuid guid identifier identificativo objectid'),
  name: words('nome title label denominazione descrizione displayname fullname ragionesociale'),
  agendaId: words('agenda calendarid calendar idagenda agendauuid scheduleid resourceid idcalendario calendarioid'),
  locationId: words('location siteid site idsede sedeid sede clinicid officeid branchid facilityid ambulatorioid'),
  patientId: words('patient idpaziente pazienteid paziente customerid clientid subjectid'),
  patientFirstName: words('patientgivenname pazientenome nomepaziente'),
  patientLastName: words('patientsurname patientfamilyname pazientecognome cognomepaziente'),
  doctorId: words('doctor practitionerid physicianid providerid idmedico medicoid medico operatorid'),
  treatmentId: words('treatment serviceid service idprestazione prestazioneid prestazione appointmenttypeid'),
  priceListId: words('pricelist listpriceid tariffid idlistino listinoid listino'),
  episodeId: words('episode caseid idepisodio episodioid encounterid'),
  appointmentId: words('appointment bookingid idappuntamento appuntamentoid prenotazioneid'),
  start: words('starts startsat startat starttime startdatetime startdate begin from inizio datainizio dataorainizio'),
  end: words('ends endsat endat endtime enddatetime enddate finish to fine datafine dataorafine'),
  duration: words('durationminutes length durata durataminuti minutes durationseconds duratasecondi'),
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
  updatedAt: words('modifiedat updatedon modifiedon lastmodified lastupdate lastupdated datamodifica ultimamodifica'),
  createdAt: words('createdon insertedat created datacreazione datainserimento'),
  notes: words('note comment comments remarks annotazioni osservazioni memo'),
  source: words('origin channel origine provenienza'),
  externalId: words('externalref externalreference foreignid idesterno riferimentoesterno'),
  firstName: words('givenname forename nome'),
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
  price: words('amount unitprice prezzo importo tariffa'),
  currency: words('currencycode valuta'),
  amount: words('value total importo'),
};

/** Returns the known names of a field, most likely first. */
export function commonNames(field: string): readonly string[] {
  return [folded(field), ...(FIELDS[field] ?? [])];
}

/** Names of a field with a patient's full name, by list; joined as above. */
export const WHOLE_NAMES: Readonly<Record<string, readonly string[]>> = {
  patients: words('fullname name displayname nominativo'),
  appointments: words('patientname patientfullname patientdisplayname clientname nominativo'),
};

/** Names of an answer's envelope, by the last name of a path. */
export const ENVELOPE = {
  lists: words('data items results value rows records content elements list entries elenco risultati'),
  hasMore: words('hasmore hasnext hasnextpage more'),
  totals: words('total totalcount totalitems totalelements totalresults totalrecords totale'),
  cursors: words('nextcursor cursor nextpagetoken nexttoken continuationtoken'),
  links: words('next nextlink nextpage nexturl href nexthref'),
};

/** Names of query parameters as written, most likely first; compared folded and without brackets and dollar signs. */
export const PARAMETERS = {
  size: words('limit pageSize page_size per_page perPage size take top count'),
  offset: words('offset skip'),
  page: words('page pageNumber page_number pagina'),
  cursor: words('cursor after pageToken page_token'),
  agenda: words(
    'agendaId agenda_ids agendaIds agenda_id calendarId calendar_id calendar calendars resourceId idAgenda agenda scheduleId',
  ),
  includesHidden: words('includeCancelled includeCanceled withCancelled showCancelled includeDeleted includiAnnullati'),
  changedSince: words('updatedSince modifiedSince changedSince updatedAfter modifiedAfter modificatiDal'),
} as const;

/** Pairs of window parameters as written, most likely first. */
export const WINDOWS: readonly (readonly [from: string, to: string])[] = [
  ['from', 'to'],
  ['date_start', 'date_end'],
  ['dateFrom', 'dateTo'],
  ['date_from', 'date_to'],
  ['starts_from', 'starts_to'],
  ['start_from', 'start_to'],
  ['startFrom', 'startTo'],
  ['starts_after', 'starts_before'],
  ['from_date', 'to_date'],
  ['startDate', 'endDate'],
  ['start_date', 'end_date'],
  ['dateStart', 'dateEnd'],
  ['start', 'end'],
  ['timeMin', 'timeMax'],
  ['since', 'until'],
  ['dal', 'al'],
];

/** Folds a parameter name for comparison: `$top` (OData) and `page[size]` (JSON:API) become `top` and `pagesize`. */
export function plainName(name: string): string {
  return folded(name.replaceAll(/[$[\]]/g, ''));
}

/** Decides whether window names such as `starts_from` and `starts_to` select by start instead of overlap. */
export function isByStart(...names: readonly string[]): boolean {
  return names.every((name) => /^starts?(from|to|after|before|gte?|lte?)$/.test(plainName(name)));
}

/** Known status words of clinic systems: English, Italian, FHIR (hl7.org/fhir/R4/valueset-appointmentstatus.html). */
const STATUS_WORDS: Readonly<Record<Exclude<AppointmentStatus, 'unknown'>, readonly string[]>> = {
  booked: words('booked scheduled planned pending new open proposed waitlist prenotato prenotata programmato inserito'),
  confirmed: words('confirmed accepted confermato confermata'),
  arrived: words('arrived checkedin waiting present arrivato arrivata accettato accettata inattesa presente'),
  in_progress: words('inprogress incare started ongoing incorso incura iniziato'),
  completed: words(
    'completed done fulfilled finished closed executed checkedout eseguito eseguita completato completata concluso erogato',
  ),
  cancelled: words(
    'cancelled canceled deleted revoked enteredinerror void annullato annullata disdetto disdetta cancellato cancellata',
  ),
  no_show: words('noshow absent missed didnotarrive nonpresentato nonpresentata assente'),
};

/** Returns the known status of a word, or null. */
export function statusOfWord(word: string): AppointmentStatus | null {
  const found = Object.entries(STATUS_WORDS).find(([, synonyms]) => synonyms.includes(folded(word)));
  return (found?.[0] as AppointmentStatus | undefined) ?? null;
}

type Flag = Readonly<{ names: readonly string[]; status: AppointmentStatus; over: AppointmentStatus[] | null }>;

/** Fields that override a status, by precedence. */
export const FLAGS: readonly Flag[] = [
  { names: words('confirmed isconfirmed confirmedat'), status: 'confirmed', over: ['booked'] },
  { names: words('arrived arrivedat checkedin checkedinat'), status: 'arrived', over: ['booked', 'confirmed'] },
  { names: words('didnotarrive noshow isnoshow'), status: 'no_show', over: null },
  { names: words('cancelled canceled iscancelled iscanceled cancelledat canceledat'), status: 'cancelled', over: null },
];

/** Objects whose name adds no meaning to the names inside. */
const TRANSPARENT = words('address indirizzo attributes properties contact contacts contatti anagrafica times data');

/** Returns the folded names of a path: all names joined, and the last name if the others add no meaning. */
export function namesOfPath(path: string): string[] {
  const parts = path.split('.').map(folded);
  const last = parts.pop() ?? '';
  const joined = [...parts, last].join('');
  return parts.length > 0 && parts.every((part) => TRANSPARENT.includes(part)) ? [joined, last] : [joined];
}
