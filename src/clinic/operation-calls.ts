import { MirrorError } from '../model/errors.ts';
import type { ClinicApi } from './api.ts';
import type { PdfDownload, PdfSource } from './http/files.ts';
import type { ListPage } from './read/lists.ts';
import { reimbursement } from './schema/billing.ts';
import { field, type Shape } from './schema/fields.ts';
import { payment, statusChange } from './schema/registry.ts';
import { RESOURCES } from './schema/resources.ts';

/** What an operation is called with; each looks at what it needs. */
export interface OperationInput {
  tenantId: string;
  /** The path's parameters after the tenant, in their order. */
  ids: readonly string[];
  /** By the names of the call's `takes`. */
  values: Readonly<Record<string, unknown>>;
  /** Query parameters of a list, by the clinic's own names. */
  parameters: readonly [string, string][];
  file: PdfSource | null;
}

/** What comes out: pages of a list, a record or a look for one, a PDF or null, whether there was something to remove. */
export type OperationAnswer = AsyncIterable<ListPage<object>> | Promise<object | PdfDownload | boolean | null>;

/** The function of one operation, in a form that all of them share. */
export interface OperationCall {
  gives: 'list' | 'record' | 'file' | 'removed';
  /** The values that it wants, by our names; null for none. */
  takes: Shape | null;
  wantsFile: boolean;
  /** Values are checked where they are written. @throws MirrorError as the function does */
  run(api: ClinicApi, input: OperationInput, signal: AbortSignal): OperationAnswer;
}

/** What the two forms of availability are asked with. */
const slotQuestion = {
  fromAt: field.needed(field.instant()),
  toAt: field.needed(field.instant()),
  agendaId: field.id(),
  locationId: field.id(),
  doctorId: field.id(),
} satisfies Shape;

type Run = OperationCall['run'];
const gives =
  (kind: OperationCall['gives']) =>
  (run: Run, takes: Shape | null = null) => {
    return { gives: kind, takes, wantsFile: false, run };
  };
const list = gives('list');
const record = gives('record');
const file = gives('file');
const removed = gives('removed');

const READ = [
  ...['patients', 'agendas', 'appointments', 'treatments', 'priceLists', 'episodes', 'invoices', 'medicalReports'],
  ...['locations', 'issuers'],
] as ('patients' | 'agendas')[];

/** Lists and single records of the resources that are read the usual way. */
const READINGS: Record<string, OperationCall> = Object.fromEntries(
  READ.flatMap((name) => [
    [`${name}.list`, list((api, input, signal) => api[name].list(input.tenantId, input.parameters, signal))],
    [`${name}.read`, record((api, input, signal) => api[name].read(input.tenantId, idOf(input), signal))],
  ]),
);

const { status: _status, ...bookable } = RESOURCES.appointments;
const { patients, episodes, invoices, medicalReports } = RESOURCES;

/** The calls of all `OPERATIONS`, by their names: what the command line offers of the API. */
export const OPERATION_CALLS: Readonly<Record<string, OperationCall>> = {
  ...READINGS,
  'userInfo.read': record((api, _, signal) => api.userInfo.read(signal)),
  'tenantInfo.read': record((api, { tenantId }, signal) => api.tenantInfo.read(tenantId, signal)),
  'sections.list': list((api, input, signal) => api.sections.list(input.tenantId, input.parameters, signal)),

  'patients.create': record((api, input, signal) => {
    return api.patients.create(input.tenantId, input.values, signal);
  }, patients),
  'patients.update': record((api, input, signal) => {
    return api.patients.update(input.tenantId, idOf(input), input.values, signal);
  }, patients),

  'appointments.create': record((api, input, signal) => {
    return api.appointments.create(input.tenantId, input.values, signal);
  }, bookable),
  'appointments.update': record((api, input, signal) => {
    return api.appointments.update(input.tenantId, idOf(input), input.values, signal);
  }, bookable),
  'appointments.setStatus': record((api, input, signal) => {
    return api.appointments.setStatus(input.tenantId, idOf(input), input.values as never, signal);
  }, statusChange),
  'appointments.setPayment': record((api, input, signal) => {
    return api.appointments.setPayment(input.tenantId, idOf(input), input.values as never, signal);
  }, payment),
  'appointments.removePayment': record((api, input, signal) =>
    api.appointments.removePayment(input.tenantId, idOf(input), signal),
  ),
  'appointments.checkIn': record((api, input, signal) => api.appointments.checkIn(input.tenantId, idOf(input), signal)),
  'appointments.remove': removed((api, input, signal) => api.appointments.remove(input.tenantId, idOf(input), signal)),

  'availabilities.list': list((api, input, signal) => {
    return api.availabilities.list(input.tenantId, questionOf(input), signal);
  }, slotQuestion),
  'availabilities.listOfTreatment': list((api, input, signal) => {
    const offer = { treatmentId: idOf(input), priceListId: idOf(input, 1) };
    return api.availabilities.listOfTreatment(input.tenantId, offer, questionOf(input), signal);
  }, slotQuestion),
  'priceLists.readByCode': record((api, input, signal) =>
    api.priceLists.readByCode(input.tenantId, idOf(input), signal),
  ),

  'episodes.create': record((api, input, signal) => {
    return api.episodes.create(input.tenantId, input.values, signal);
  }, episodes),
  'episodes.update': record((api, input, signal) => {
    return api.episodes.update(input.tenantId, idOf(input), input.values, signal);
  }, episodes),
  'episodes.remove': removed((api, input, signal) => api.episodes.remove(input.tenantId, idOf(input), signal)),

  'invoices.pdf': file((api, input, signal) => api.invoices.pdf(input.tenantId, idOf(input), signal)),
  'invoices.create': record((api, input, signal) => {
    return api.invoices.create(input.tenantId, input.values, signal);
  }, invoices),
  'invoices.addReimbursements': record((api, input, signal) => {
    return api.invoices.addReimbursements(input.tenantId, idOf(input), input.values, signal);
  }, reimbursement),

  'medicalReports.create': {
    ...record((api, input, signal) => {
      return api.medicalReports.create(input.tenantId, input.values, needed(input.file), signal);
    }, medicalReports),
    wantsFile: true,
  },
  'medicalReports.pdf': file((api, input, signal) => api.medicalReports.pdf(input.tenantId, idOf(input), signal)),
};

/** A parameter of the path; an absent one is refused where the address is built. */
function idOf({ ids }: OperationInput, index = 0): string {
  return ids[index] ?? '';
}

function needed(given: PdfSource | null): PdfSource {
  if (given !== null) return given;
  throw new MirrorError('a report needs a file', { actor: 'settings', code: 'file-needed', retry: 'never' });
}

function questionOf({ values }: OperationInput) {
  const text = (name: string) => (typeof values[name] === 'string' ? { [name]: values[name] } : {});
  return {
    window: { fromAt: Number(values.fromAt), toAt: Number(values.toAt) },
    agendaIds: typeof values.agendaId === 'string' ? [values.agendaId] : null,
    ...text('locationId'),
    ...text('doctorId'),
  };
}
