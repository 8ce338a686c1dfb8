import type { ResourceName } from './resources.ts';

/** Subject of an operation: a list of the clinic, or one of the two single records. */
export type OperationSubject = ResourceName | 'userInfo' | 'tenantInfo';

/** A scope without the profile's prefix (specification section 5.7). */
export type ScopeName = 'patients' | 'agenda' | 'treatments' | 'episodes' | 'medicalreports' | 'invoices';

/** One operation of the clinic API. */
export interface ClinicOperation {
  /** Subject and verb, such as `appointments.list`. */
  name: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path in the specification; a profile may replace the prefix `/v2`. */
  path: string;
  /** Null: every user with access to the tenant. */
  scope: ScopeName | null;
  subject: OperationSubject;
}

const METHODS = { list: 'GET', read: 'GET', create: 'POST', update: 'PUT', remove: 'DELETE' } as const;
const TENANT = '/v2/tenants/{tenantId}';

function operation(
  name: `${OperationSubject}.${string}`,
  scope: ScopeName | null,
  method: ClinicOperation['method'],
  path: string,
): ClinicOperation {
  return { name, method, path, scope, subject: name.replace(/\..*/, '') as OperationSubject };
}

/** Returns the usual operations of a list. @param record path of one record, relative to the tenant */
function usual(
  subject: ResourceName,
  scope: ScopeName | null,
  record: string,
  verbs: readonly (keyof typeof METHODS)[],
): ClinicOperation[] {
  return verbs.map((verb) => {
    const path = verb === 'list' || verb === 'create' ? record.replace(/\/\{.*/, '') : record;
    return operation(`${subject}.${verb}`, scope, METHODS[verb], TENANT + path);
  });
}

const APPOINTMENT = `${TENANT}/appointments/{appointmentId}`;
const INVOICE = `${TENANT}/invoices/{invoiceId}`;

/**
 * Every operation of specification section 4, in the specification's order. Errors, logs and metrics use these names (`clinic.<name>`). The
 * names of the operator's questions are derived from them (`operator/control/clinic-question.ts`).
 */
export const OPERATIONS: readonly ClinicOperation[] = [
  operation('userInfo.read', null, 'GET', '/v2/userinfo'),
  ...usual('patients', 'patients', '/patients/{patientId}', ['list', 'create', 'read', 'update']),
  ...usual('agendas', 'agenda', '/agendas/{agendaId}', ['list', 'read']),
  ...usual('appointments', 'agenda', '/appointments/{appointmentId}', ['list', 'read', 'create', 'update']),
  operation('appointments.setStatus', 'agenda', 'PUT', `${APPOINTMENT}/status`),
  operation('appointments.setPayment', 'agenda', 'PUT', `${APPOINTMENT}/payment`),
  operation('appointments.removePayment', 'agenda', 'DELETE', `${APPOINTMENT}/payment`),
  ...usual('appointments', 'agenda', '/appointments/{appointmentId}', ['remove']),
  operation('appointments.checkIn', 'agenda', 'POST', `${APPOINTMENT}/checkin`),
  operation('availabilities.list', 'agenda', 'GET', `${TENANT}/availabilities`),
  operation(
    'availabilities.listOfTreatment',
    'agenda',
    'GET',
    `${TENANT}/treatments/{treatmentId}/listprices/{priceListId}/availabilities`,
  ),
  ...usual('treatments', 'treatments', '/treatments/{treatmentId}', ['list', 'read']),
  ...usual('priceLists', 'treatments', '/pricelists/{priceListId}', ['list', 'read']),
  operation('priceLists.readByCode', 'treatments', 'GET', `${TENANT}/pricelists/{priceListCode}`),
  ...usual('episodes', 'episodes', '/episodes/{id}', ['list', 'read', 'create', 'update', 'remove']),
  ...usual('invoices', 'invoices', '/invoices/{invoiceId}', ['list', 'read']),
  operation('invoices.pdf', 'invoices', 'GET', `${INVOICE}/pdf`),
  ...usual('invoices', 'invoices', '/invoices/{invoiceId}', ['create']),
  operation('invoices.addReimbursements', 'invoices', 'POST', `${INVOICE}/reimbursements`),
  ...usual('medicalReports', 'medicalreports', '/medicalreports/{medicalReportId}', ['create', 'list', 'read']),
  operation('medicalReports.pdf', 'medicalreports', 'GET', `${TENANT}/medicalreports/{medicalReportId}/pdf`),
  ...usual('locations', null, '/locations/{locationId}', ['list', 'read']),
  operation('tenantInfo.read', null, 'GET', `${TENANT}/info`),
  ...usual('sections', 'invoices', '/accounting/sections/{sectionId}', ['list']),
  ...usual('issuers', 'invoices', '/accounting/issuers/{issuerId}', ['list', 'read']),
];
