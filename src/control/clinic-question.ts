import type { JsonObject } from '../clinic/http/rows.ts';
import { type ClinicOperation, OPERATIONS } from '../clinic/schema/operations.ts';
import { MirrorError } from '../model/errors.ts';

/** What is wanted of the clinic. */
export interface ClinicQuestion {
  /** A resource, such as `patients`. */
  resource: string;
  /** `read` for a list or a record; else what is to be done. */
  verb: string;
  ids: readonly string[];
  /** By our names, instants as ISO 8601. */
  values: JsonObject;
  /** Query parameters by the clinic's own names. */
  parameters: readonly [string, string][];
  /** A PDF that goes up. */
  pdf: string | null;
}

/** What people call the operations that change something, beside their own names. */
const VERBS: Readonly<Record<string, string>> = {
  delete: 'remove',
  status: 'setStatus',
  payment: 'setPayment',
  'remove-payment': 'removePayment',
  checkin: 'checkIn',
  reimbursement: 'addReimbursements',
};

/** Resources that can be named. */
export const CLINIC_RESOURCES: readonly string[] = [...new Set(OPERATIONS.map(({ subject }) => subject))];
/** What can be done, by the words of the command line. */
export const CLINIC_WRITES: readonly string[] = ['create', 'update', ...Object.keys(VERBS)];

/**
 * The operation that is meant: one that reads a list or, with an id, a record; or one that writes.
 * @throws MirrorError `settings`, code `no-such-operation`
 */
export function operationOf({ resource, verb, ids }: ClinicQuestion): ClinicOperation {
  const own = OPERATIONS.filter(({ subject }) => subject === resource);
  const reading = ids.length === 0 ? ['list', 'read'] : ids.length === 1 ? ['read'] : ['listOfTreatment'];
  const verbs = verb === 'read' ? reading : [VERBS[verb] ?? verb];
  const found = verbs.map((each) => own.find(({ name }) => name === `${resource}.${each}`)).find((each) => each);
  const isBare =
    found !== undefined && ids.length < (found.path.match(/\{/g)?.length ?? 0) - (resource === 'userInfo' ? 0 : 1);
  if (found !== undefined && !isBare) return found;
  const there = own.length === 0 ? CLINIC_RESOURCES : own.map(({ name }) => name.split('.')[1] ?? '');
  throw new MirrorError(isBare ? 'the operation needs an id' : 'the clinic API has no such operation', {
    actor: 'settings',
    code: 'no-such-operation',
    retry: 'never',
    remedy: isBare ? 'give the id of the record' : `name one of: ${there.join(', ')}`,
  });
}
