import type { JsonObject } from '../clinic/http/rows.ts';
import { type ClinicOperation, OPERATIONS } from '../clinic/schema/operations.ts';
import { type Message, message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';

/** What is wanted of the clinic. */
export interface ClinicQuestion {
  /** A resource, such as `patients`. */
  resource: string;
  /** `read` for a list or a record; else what is to be done. */
  verb: string;
  ids: readonly string[];
  /** By our names, instants as ISO 8601; several objects for an operation that takes as many. */
  values: JsonObject | readonly JsonObject[];
  /** Query parameters by the clinic's own names. */
  parameters: readonly [string, string][];
  /** A PDF that goes up. */
  pdf: string | null;
}

/** How a person asks for an operation. */
export interface ClinicCommand {
  resource: string;
  /** As in {@link ClinicQuestion.verb}. */
  verb: string;
  /** What its ids are, in their order. */
  ids: readonly string[];
}

/** What people call the operations, where it is not their own name. */
const VERBS: Readonly<Record<string, string>> = {
  list: 'read',
  listOfTreatment: 'read',
  readByCode: 'read',
  remove: 'delete',
  setStatus: 'status',
  setPayment: 'payment',
  removePayment: 'remove-payment',
  checkIn: 'checkin',
  addReimbursements: 'reimbursement',
};

/** The command of an operation: what it is about, its verb, and the parameters of its path after the tenant. */
export function commandOf({ name, path, subject }: ClinicOperation): ClinicCommand {
  const own = name.slice(subject.length + 1);
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  return { resource: subject, verb: VERBS[own] ?? own, ids: parameters.filter((each) => each !== 'tenantId') };
}

const COMMANDS = OPERATIONS.map((operation) => ({ operation, command: commandOf(operation) }));

/** Resources that can be named. */
export const CLINIC_RESOURCES: readonly string[] = [...new Set(COMMANDS.map(({ command }) => command.resource))];
/** What can be done, by the words of the command line. */
export const CLINIC_WRITES: readonly string[] = [
  ...new Set(COMMANDS.flatMap(({ operation, command }) => (operation.method === 'GET' ? [] : [command.verb]))),
];

/**
 * The operation that is meant: of several that are asked for alike, the first.
 * @throws MirrorError `settings`, code `no-such-operation`, for a resource, a verb or a number of ids that there is not
 */
export function operationOf({
  resource,
  verb,
  ids,
}: Pick<ClinicQuestion, 'resource' | 'verb' | 'ids'>): ClinicOperation {
  const own = COMMANDS.filter(({ command }) => command.resource === resource);
  if (own.length === 0)
    throw noSuch(message('resource-unknown'), message('no-such-tenant.remedy', { ids: CLINIC_RESOURCES.join(', ') }));
  const meant = own.filter(({ command }) => command.verb === verb);
  if (meant.length === 0) {
    const verbs = [...new Set(own.map(({ command }) => command.verb))];
    throw noSuch(message('operation-unknown', { resource }), message('available-names', { names: verbs.join(', ') }));
  }
  const found = meant.find(({ command }) => command.ids.length === ids.length);
  if (found !== undefined) return found.operation;
  const forms = new Set(meant.map(({ command }) => command.ids.join(' and ') || 'no id'));
  const text = message(ids.length === 0 ? 'operation-needs-id' : 'operation-needs-ids', { resource });
  throw noSuch(text, message('operation-needs-ids.remedy', { forms: [...forms].join(', or ') }));
}

function noSuch(text: Message, remedy: Message): MirrorError {
  return new MirrorError(text, { actor: 'settings', code: 'no-such-operation', retry: 'never', remedy });
}
