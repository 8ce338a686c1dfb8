import { MirrorError } from '../model/errors.ts';
import type { ClinicApi } from './api.ts';
import type { PdfDownload, PdfSource } from './http/files.ts';
import { asId } from './http/rows.ts';
import type { ListPage } from './read/lists.ts';
import type { SlotQuestion } from './read/reading-calls.ts';
import { field, isNested, type Shape } from './schema/fields.ts';
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

type Run = OperationCall['run'];
const gives =
  (kind: OperationCall['gives']) =>
  (run: Run, takes: Shape | null = null): OperationCall => {
    return { gives: kind, takes, needs: [], takesSeveral: false, wantsFile: false, check: () => {}, run };
  };
/** A call that must be given what its values need; of a record that it makes or changes the clinic says what it needs. */
const asked = (call: OperationCall): OperationCall => {
  const needs = Object.entries(call.takes ?? {}).flatMap(([name, one]) => (!isNested(one) && one.needed ? [name] : []));
  return { ...call, needs };
};
const list = gives('list');
/** A list of slots, by a question. */
const slots = (
  run: (api: ClinicApi, input: OperationInput, question: SlotQuestion, signal: AbortSignal) => OperationAnswer,
) =>
  asked({
    ...list((api, input, signal) => run(api, input, questionOf(input.values), signal), slotQuestion),
    check: (values) => void questionOf(values),
  });
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
  'appointments.setStatus': asked(
    record((api, input, signal) => {
      return api.appointments.setStatus(input.tenantId, idOf(input), input.values as never, signal);
    }, statusChange),
  ),
  'appointments.setPayment': asked(
    record((api, input, signal) => {
      return api.appointments.setPayment(input.tenantId, idOf(input), input.values as never, signal);
    }, payment),
  ),
  'appointments.removePayment': record((api, input, signal) =>
    api.appointments.removePayment(input.tenantId, idOf(input), signal),
  ),
  'appointments.checkIn': record((api, input, signal) => api.appointments.checkIn(input.tenantId, idOf(input), signal)),
  'appointments.remove': removed((api, input, signal) => api.appointments.remove(input.tenantId, idOf(input), signal)),

  'availabilities.list': slots((api, { tenantId }, question, signal) =>
    api.availabilities.list(tenantId, question, signal),
  ),
  'availabilities.listOfTreatment': slots((api, input, question, signal) => {
    const offer = { treatmentId: idOf(input), priceListId: idOf(input, 1) };
    return api.availabilities.listOfTreatment(input.tenantId, offer, question, signal);
  }),
  'priceLists.readByCode': record((api, input, signal) => api.priceLists.read(input.tenantId, idOf(input), signal)),

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
  'invoices.addReimbursements': {
    ...record((api, input, signal) => {
      return api.invoices.addReimbursements(input.tenantId, idOf(input), input.several, signal);
    }, reimbursement),
    takesSeveral: true,
  },

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
  throw new MirrorError('a report needs a file', {
    actor: 'settings',
    code: 'file-needed',
    retry: 'never',
    remedy: 'name its PDF with --pdf',
  });
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
    agendaIds: agendaIds?.map((id: unknown) => givenId(id, 'agendaId')) ?? null,
    ...(locationId === null ? {} : { locationId: givenId(locationId, 'locationId') }),
    ...(doctorId === null ? {} : { doctorId: givenId(doctorId, 'doctorId') }),
  };
}

function givenId(value: unknown, name: string): string {
  return asId(value) ?? badValue(name, 'give an id as text');
}
