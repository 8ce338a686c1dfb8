import { type ClinicOperation, OPERATIONS } from '../../clinic/schema/operations.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { JsonObject } from '../../described-api/paths.ts';
import { type Message, message } from '../../messages/message.ts';

/** A request to the clinic. */
export interface ClinicQuestion {
  /** A resource, such as `patients`. */
  resource: string;
  /** `read` for a list or a record, or the name of a change. */
  verb: string;
  ids: readonly string[];
  /** By field names of clinic-mirror, with instants as ISO 8601. Several objects for an operation on lists. */
  values: JsonObject | readonly JsonObject[];
  /** Query parameters with the clinic's parameter names. */
  parameters: readonly [string, string][];
  /** A PDF to upload. */
  pdf: string | null;
}

/** Command of a clinic operation. */
export interface ClinicCommand {
  resource: string;
  /** As in {@link ClinicQuestion.verb}. */
  verb: string;
  /** Names of the ids, in order. */
  ids: readonly string[];
}

/** CLI verbs that differ from operation names. */
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

/** Returns the command of an operation: resource, verb, and path parameters after the tenant. */
export function commandOf({ name, path, subject }: ClinicOperation): ClinicCommand {
  const own = name.slice(subject.length + 1);
  const parameters = [...path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => parameter);
  return { resource: subject, verb: VERBS[own] ?? own, ids: parameters.filter((each) => each !== 'tenantId') };
}

const COMMANDS = OPERATIONS.map((operation) => ({ operation, command: commandOf(operation) }));

/** Resources of the clinic commands. */
export const CLINIC_RESOURCES: readonly string[] = [...new Set(COMMANDS.map(({ command }) => command.resource))];
/** Verbs of changes in the CLI. */
export const CLINIC_WRITES: readonly string[] = [
  ...new Set(COMMANDS.flatMap(({ operation, command }) => (operation.method === 'GET' ? [] : [command.verb]))),
];

/**
 * Returns the operation of a command. If several operations have equal commands, returns the first.
 * @throws MirrorError `settings`, code `no-such-operation`, for an unknown resource or verb, or a wrong number of ids
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
