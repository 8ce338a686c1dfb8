import { folded } from '../../clinic/http/rows.ts';
import { parsePath } from '../../clinic/schema/paths.ts';

/**
 * Names under which clinic systems are known to keep what we call otherwise, English and Italian, folded: without case, spaces,
 * hyphens and underscores. A nested name is joined: `patient.id` is `patientid`. The likeliest first.
 */
const NAMES: Readonly<Record<string, string>> = {
  id: 'uuid guid identifier identificativo objectid',
  name: 'nome title label denominazione descrizione displayname fullname ragionesociale',
  agendaId: 'agendaid agenda calendarid calendar idagenda agendauuid scheduleid resourceid idcalendario calendarioid',
  locationId: 'locationid location siteid site idsede sedeid sede clinicid officeid branchid facilityid ambulatorioid',
  patientId: 'patientid patient idpaziente pazienteid paziente customerid clientid subjectid',
  patientFirstName: 'patientfirstname patientgivenname patientname pazientenome nomepaziente clientfirstname',
  patientLastName: 'patientlastname patientsurname patientfamilyname pazientecognome cognomepaziente clientlastname',
  doctorId: 'doctorid doctor practitionerid physicianid providerid idmedico medicoid medico operatorid',
  treatmentId:
    'treatmentid treatment serviceid service idprestazione prestazioneid prestazione appointmenttypeid visittypeid procedureid productid',
  priceListId: 'pricelistid pricelist listpriceid tariffid idlistino listinoid listino',
  episodeId: 'episodeid episode caseid idepisodio episodioid encounterid',
  practiceId: 'practiceid practice lineid rowid idprestazione prestazioneid serviceid',
  appointmentId: 'appointmentid appointment bookingid idappuntamento appuntamentoid prenotazioneid',
  sectionId: 'sectionid section seriesid idsezionale sezionaleid sezionale numberingid',
  issuerId: 'issuerid issuer companyid idemittente emittenteid emittente',
  start:
    'starts startsat startat starttime startdatetime startdate begin beginsat begintime from inizio datainizio orainizio dataorainizio scheduledat scheduledstart datetimestart starton',
  end: 'ends endsat endat endtime enddatetime enddate finish finishesat to fine datafine orafine dataorafine scheduledend datetimeend endon',
  duration:
    'durationminutes duration lengthminutes length durata durataminuti minutes durationseconds durationinseconds duratasecondi',
  durationMinutes: 'durationminutes duration lengthminutes length durata durataminuti minutes',
  startAt: 'start starts startsat starttime startdatetime begin from inizio datainizio orainizio dataorainizio',
  endAt: 'end ends endsat endtime enddatetime finish to fine datafine orafine dataorafine',
  allDay: 'allday isallday wholeday fullday tuttoilgiorno giornointero',
  status: 'state stato statuscode statocodice appointmentstatus bookingstatus situation',
  statusReason: 'statusreason reason cancellationreason cancelreason motivo motivoannullamento',
  confirmedAt: 'confirmedat confirmedon dataconferma',
  checkedInAt: 'checkedinat checkinat arrivedat arrivaltime acceptedat dataaccettazione',
  cancelledAt: 'cancelledat canceledat cancelledon canceledon deletedat dataannullamento',
  isPaid: 'ispaid paid pagato saldato',
  updatedAt:
    'updatedat modifiedat updatedon modifiedon lastmodified lastmodifiedat lastupdate lastupdated changedat datamodifica ultimamodifica',
  createdAt: 'createdat createdon insertedat created datacreazione datainserimento',
  notes: 'notes note comment comments remarks annotazioni osservazioni memo',
  source: 'source origin channel origine provenienza',
  externalId: 'externalid externalref externalreference foreignid idesterno riferimentoesterno',
  firstName: 'firstname givenname forename nome name',
  lastName: 'lastname surname familyname cognome',
  taxCode: 'taxcode fiscalcode codicefiscale cf taxid taxnumber',
  vatNumber: 'vatnumber vat vatid vatcode partitaiva piva',
  birthDate: 'birthdate dateofbirth dob birthday datanascita datadinascita',
  birthPlace: 'birthplace placeofbirth luogonascita luogodinascita comunenascita',
  gender: 'gender sex sesso genere',
  email: 'email emailaddress mail postaelettronica indirizzoemail',
  certifiedEmail: 'certifiedemail pec indirizzopec',
  phone: 'phone phonenumber telephone tel telefono landline homephone',
  mobilePhone: 'mobilephone mobile mobilenumber cell cellphone cellulare telefonocellulare',
  language: 'language lang locale lingua',
  street: 'street addressstreet line1 addressline1 address1 streetaddress indirizzo via',
  postalCode: 'postalcode zip zipcode postcode cap addresspostalcode codicepostale',
  city: 'city town locality comune citta addresscity localita',
  province: 'province state region county provincia addressprovince',
  country: 'country countrycode nazione paese stato addresscountry',
  zone: 'timezone tz zone fusoorario',
  isActive: 'isactive active enabled isenabled attivo attiva abilitato',
  isBookableOnline: 'isbookableonline bookableonline onlinebooking bookable prenotabileonline',
  isDefault: 'isdefault default predefinito',
  slotMinutes: 'slotminutes slotduration slotlength slot durataslot',
  type: 'type kind tipo tipologia',
  code: 'code codice shortname sigla',
  description: 'description descrizione text',
  category: 'category group categoria branca',
  price: 'price amount unitprice prezzo importo tariffa',
  currency: 'currency currencycode valuta',
  vatRate: 'vatrate vatpercentage taxrate aliquota aliquotaiva iva',
  vatExemptionCode: 'vatexemptioncode vatexemption exemptioncode natura esenzione codiceesenzione',
  validFrom: 'validfrom startdate datainizio datainiziovalidita validodal',
  validTo: 'validto validuntil enddate datafine datafinevalidita validoal',
  prices: 'prices items rows lines prezzi voci righe',
  practices: 'practices services lines items prestazioni righe procedures',
  doctors: 'doctors practitioners medici operatori physicians providers',
  quantity: 'quantity qty quantita',
  executedAt: 'executedat performedat doneat dataesecuzione',
  openedAt: 'openedat opened startedat startdate dataapertura apertoil',
  closedAt: 'closedat closed endedat enddate datachiusura chiusoil',
  title: 'title name subject titolo oggetto',
  reportDate: 'reportdate date documentdate datareferto data',
  fileName: 'filename name nomefile',
  fileSizeBytes: 'filesize size bytes sizebytes dimensione',
  contentType: 'contenttype mimetype mediatype',
  sha256: 'sha256 checksum hash digest',
  number: 'number invoicenumber documentnumber numero numerofattura',
  documentType: 'documenttype type kind tipodocumento',
  issueDate: 'issuedate date invoicedate documentdate dataemissione data datafattura',
  dueDate: 'duedate expirydate datascadenza scadenza',
  customer: 'customer client recipient billto cliente intestatario',
  netAmount: 'netamount net subtotal taxable imponibile totalenetto',
  vatAmount: 'vatamount vat tax taxamount imposta importoiva totaleiva',
  stampDuty: 'stampduty stamp bollo impostabollo',
  withholdingTax: 'withholdingtax withholding ritenuta ritenutaacconto',
  totalAmount: 'totalamount total grandtotal amount totale importototale',
  paidAmount: 'paidamount paid amountpaid pagato totalepagato',
  reimbursedAmount: 'reimbursedamount reimbursed rimborsato',
  items: 'items lines rows righe voci details dettagli',
  linkedPractices: 'linkedpractices practices linkedservices prestazionicollegate prestazioni',
  payments: 'payments pagamenti',
  reimbursements: 'reimbursements refunds rimborsi',
  amount: 'amount value total importo',
  date: 'date data day',
  payer: 'payer paidby pagante',
  method: 'method paymentmethod type metodo modalita',
  reference: 'reference ref riferimento',
  paidAt: 'paidat paidon paymentdate datapagamento',
  unitPrice: 'unitprice price prezzounitario prezzo',
  discount: 'discount sconto',
  year: 'year fiscalyear anno',
  lastNumber: 'lastnumber currentnumber ultimonumero',
  lastDate: 'lastdate ultimadata',
  nextNumber: 'nextnumber prossimonumero',
  isElectronic: 'iselectronic electronic elettronica fatturaelettronica',
  businessName: 'businessname companyname name ragionesociale denominazione',
  taxRegime: 'taxregime regime regimefiscale',
  role: 'role function ruolo',
  share: 'share percentage quota percentuale',
  website: 'website url site sito sitoweb',
  address: 'address indirizzo',
};

const FOLDED = new Map(Object.entries(NAMES).map(([field, names]) => [field, names.split(' ')] as const));

/** Known names of a field of ours, folded; the likeliest first. */
export function knownNames(field: string): readonly string[] {
  return [folded(field), ...(FOLDED.get(field) ?? [])];
}

/** Objects whose name adds nothing to the names in them. */
const TRANSPARENT = new Set(
  'address indirizzo attributes properties contact contacts contatti recapiti anagrafica personaldata times orario data'.split(
    ' ',
  ),
);

/** `phones[].number` as `phonenumber`, `telecom[system=phone].value` as `phone`: what an element is, where its member is only its value. */
function namesInList(path: string): string[] {
  const steps = parsePath(path);
  const at = steps.findIndex(({ within }) => within !== undefined);
  const { name = '', within } = steps[at] ?? {};
  const last = folded(steps[at + 1]?.name ?? '');
  const thing = typeof within === 'object' ? folded(within.value) : folded(name).replace(/s$/, '');
  const isValue = ['', 'value', 'number', 'address', 'text', 'valore', 'numero'].includes(last);
  return isValue ? [`${thing}${last}`, thing, folded(name)] : [`${thing}${last}`];
}

/** The folded names under which a path may be known: its names joined, and the last alone where those before say nothing. */
export function namesOfPath(path: string): string[] {
  if (path.includes('[')) return namesInList(path);
  const parts = path.split('.').map(folded);
  const joined = parts.join('');
  const last = parts.at(-1) ?? '';
  return parts.length > 1 && parts.slice(0, -1).every((part) => TRANSPARENT.has(part)) ? [joined, last] : [joined];
}
