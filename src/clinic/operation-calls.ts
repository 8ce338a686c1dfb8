import type { ClinicApi } from './api.ts';
import { clinicError } from './http/errors.ts';
import type { PdfDownload, PdfSource } from './http/files.ts';
import { asId } from './http/rows.ts';
import type { ListPage } from './read/lists.ts';
import type { SlotQuestion } from './read/reading-calls.ts';
import { field, type Shape } from './schema/fields.ts';
import { type ClinicOperation, OPERATIONS } from './schema/operations.ts';
import { RESOURCES } from './schema/resources.ts';
import { payment, reimbursement, statusChange } from './schema/shapes.ts';
import { badValue } from './write/writing.ts';

/** What an operation is called with; each looks at what it needs. */
export interface OperationInput {
  tenantId: string;
  /** The path's parameters after the tenant, in their order. */
  ids: readonly string[];
  /** By the names of the call's `takes`. */
  values: Readonly<Record<string, unknown>>;
  /** The same for a call that takes several objects: `values` is the first of them. */
  several: readonly Readonly<Record<string, unknown>>[];
  /** Query parameters of a list, by the clinic's own names. */
  parameters: readonly [string, string][];
  file: PdfSource | null;
}

/** What comes out: pages of a list, a record or a look for one, a PDF or null, whether there was something to remove. */
export type OperationAnswer = AsyncIterable<ListPage<object>> | Promise<object | PdfDownload | boolean | null>;

/** The function of one operation, in a form that all of them share. */
export interface OperationCall {
  gives: 'list' | 'record' | 'file' | 'removed';
  /** The values that it takes, by our names; null for none. */
  takes: Shape | null;
  /** Those of them that must be given. */
  needs: readonly string[];
  /** Takes several objects of such values. */
  takesSeveral: boolean;
  wantsFile: boolean;
  /** Looks at values that are not written, before anything is asked. @throws MirrorError `contract`, code `bad-value` */
  check(values: OperationInput['values']): void;
  /** Values are checked where they are written. @throws MirrorError as the function does */
  run(api: ClinicApi, input: OperationInput, signal: AbortSignal): OperationAnswer;
}

/** What the two forms of availability are asked with; of `agendaId` several may be given. */
const slotQuestion = {
  fromAt: field.needed(field.instant()),
  toAt: field.needed(field.instant()),
  agendaId: field.id(),
  locationId: field.id(),
  doctorId: field.id(),
} satisfies Shape;

/** What an operation of this verb gives; a record where it is not named. */
const GIVES: Readonly<Record<string, OperationCall['gives']>> = {
  list: 'list',
  listOfTreatment: 'list',
  pdf: 'file',
  remove: 'removed',
};

/** What the function of a verb is called with before the signal; the id of a record where the verb is not named. */
const ARGUMENTS: Readonly<Record<string, (input: OperationInput) => unknown[]>> = {
  list: ({ tenantId, parameters }) => [tenantId, parameters],
  create: ({ tenantId, values }) => [tenantId, values],
  update: (input) => [input.tenantId, idOf(input), input.values],
  setStatus: (input) => [input.tenantId, idOf(input), input.values],
  setPayment: (input) => [input.tenantId, idOf(input), input.values],
  addReimbursements: (input) => [input.tenantId, idOf(input), input.several],
};
const byId = (input: OperationInput) => [input.tenantId, idOf(input)];

const { status: _status, ...bookable } = RESOURCES.appointments;
const WRITTEN: Readonly<Record<string, Shape>> = { ...RESOURCES, appointments: bookable };

/** What an operation has that its verb does not tell. */
const OWN: Readonly<Record<string, Partial<OperationCall>>> = {
  'userInfo.read': { run: (api, _, signal) => api.userInfo.read(signal) },
  'tenantInfo.read': { run: (api, { tenantId }, signal) => api.tenantInfo.read(tenantId, signal) },
  'appointments.setStatus': asked(statusChange),
  'appointments.setPayment': asked(payment),
  'availabilities.list': slots((api, { tenantId }, question, signal) =>
    api.availabilities.list(tenantId, question, signal),
  ),
  'availabilities.listOfTreatment': slots((api, input, question, signal) => {
    const offer = { treatmentId: idOf(input), priceListId: idOf(input, 1) };
    return api.availabilities.listOfTreatment(input.tenantId, offer, question, signal);
  }),
  'priceLists.readByCode': { run: (api, input, signal) => api.priceLists.read(input.tenantId, idOf(input), signal) },
  'invoices.addReimbursements': { takes: reimbursement, takesSeveral: true },
  'medicalReports.create': {
    wantsFile: true,
    run: (api, { tenantId, values, file }, signal) => api.medicalReports.create(tenantId, values, needed(file), signal),
  },
};

/** The calls of all `OPERATIONS`, by their names: what the command line offers of the API. */
export const OPERATION_CALLS: Readonly<Record<string, OperationCall>> = Object.fromEntries(
  OPERATIONS.map((operation) => [operation.name, { ...usual(operation), ...OWN[operation.name] }]),
);

/** The call that an operation's verb tells: the function of its resource in the API. */
function usual({ name, subject }: ClinicOperation): OperationCall {
  const verb = name.slice(subject.length + 1);
  const argumentsOf = ARGUMENTS[verb] ?? byId;
  return {
    gives: GIVES[verb] ?? 'record',
    takes: verb === 'create' || verb === 'update' ? (WRITTEN[subject] ?? null) : null,
    needs: [],
    takesSeveral: false,
    wantsFile: false,
    check: () => {},
    run: (api, input, signal) => Reflect.apply(Reflect.get(api[subject], verb), null, [...argumentsOf(input), signal]),
  };
}

/** Values that must be given where their field is needed; of a record that is made or changed the clinic says what it needs. */
function asked(takes: Shape): Pick<OperationCall, 'takes' | 'needs'> {
  return { takes, needs: Object.keys(takes).filter((name) => Reflect.get(takes[name] ?? {}, 'needed') === true) };
}

/** A list of slots, by a question. */
function slots(
  run: (api: ClinicApi, input: OperationInput, question: SlotQuestion, signal: AbortSignal) => OperationAnswer,
): Partial<OperationCall> {
  return {
    ...asked(slotQuestion),
    check: (values) => void questionOf(values),
    run: (api, input, signal) => run(api, input, questionOf(input.values), signal),
  };
}

/** A parameter of the path; an absent one is refused where the address is built. */
function idOf({ ids }: OperationInput, index = 0): string {
  return ids[index] ?? '';
}

function needed(pdf: PdfSource | null): PdfSource {
  if (pdf !== null) return pdf;
  throw clinicError('file-needed', 'a report needs a file');
}

/** @throws MirrorError `contract`, code `bad-value`, for what is not of its kind, and for a window that ends before it begins */
function questionOf(values: OperationInput['values']): SlotQuestion {
  const { fromAt, toAt, agendaId = null, locationId = null, doctorId = null } = values;
  const agendaIds = agendaId === null || Array.isArray(agendaId) ? agendaId : [agendaId];
  if (agendaIds?.length === 0) badValue('agendaId', 'give one id, several in a list, or leave it out for all');
  if (!Number.isFinite(fromAt)) badValue('fromAt');
  if (!Number.isFinite(toAt) || Number(toAt) <= Number(fromAt)) badValue('toAt', 'give a time after fromAt');
  return {
    window: { fromAt: Number(fromAt), toAt: Number(toAt) },
    agendaIds: agendaIds?.map((id: unknown) => requireId(id, 'agendaId')) ?? null,
    ...(locationId === null ? {} : { locationId: requireId(locationId, 'locationId') }),
    ...(doctorId === null ? {} : { doctorId: requireId(doctorId, 'doctorId') }),
  };
}

function requireId(value: unknown, name: string): string {
  return asId(value) ?? badValue(name, 'give an id as text');
}
