import { parseJson } from '../../model/json.ts';
import { errorBodySchema } from './schemas.ts';

/** Why HubSpot refused a call or a row, without its sentences: they repeat values that were sent. */
export interface Refusal {
  status: number;
  category: string | null;
  /** Which limit, with 429. */
  policy: string | null;
  /** Codes of what is wrong with values, such as `INVALID_OPTION`. */
  codes: string[];
  /** What looks like names of properties; only those that were sent may be repeated. */
  properties: string[];
  /** Properties whose values made a rule demand others; only those that the account has may be repeated. */
  ruledBy: string[];
  /** Permissions that are wanted. */
  scopes: string[];
  /** A unique value belongs to another record. */
  isTaken: boolean;
  /** Id of the record that has the unique value, where HubSpot names it. */
  holderId: string | null;
  /** The property by which records are named is not there, or not unique. */
  isKeyUnusable: boolean;
}

const PROPERTY_NAME = /^[a-z][a-z0-9_]{0,99}$/;
const SCOPE = /^[a-z0-9._-]{1,100}$/;

/**
 * Reads what an error's body, or an entry of a 207's `errors`, says; an unreadable one says nothing but its status.
 * @see https://developers.hubspot.com/changelog/crm-api-write-validation-enforcement
 */
export function readRefusal(status: number, body: unknown): Refusal {
  const error = errorBodySchema.safeParse(body).data ?? {};
  const details = error.errors ?? [];
  const contexts = [error.context ?? {}, ...details.map(({ context }) => context ?? {})];
  const message = error.message ?? '';
  const faults = faultsIn(message);
  const codes = [...details.flatMap(({ code }) => code ?? []), ...faults.map(({ code }) => code)];
  if (/'Edit Associations' permission/i.test(message)) codes.push(NO_EDIT_ASSOCIATIONS);
  const told = [
    ...contexts.flatMap(({ propertyName, properties }) => [...(propertyName ?? []), ...(properties ?? [])]),
    ...faults.map(({ name }) => name),
    ...[...message.matchAll(/\bpropertyName=([a-z0-9_]+)/g)].map((match) => match[1]!),
  ];
  const scopes = contexts.flatMap(({ requiredGranularScopes, requiredScopes }) => [
    ...(requiredGranularScopes ?? []),
    ...(requiredScopes ?? []),
  ]);
  return {
    status,
    category: error.category ?? null,
    policy: error.policyName ?? null,
    codes: [...new Set(codes)],
    properties: [...new Set(told)].filter((name) => PROPERTY_NAME.test(name)),
    ruledBy: [message, ...details.map((detail) => detail.message ?? '')].flatMap(namesOfRule),
    scopes: [...new Set(scopes)].filter((scope) => SCOPE.test(scope)),
    isTaken: isTaken(status, error.category, codes, message),
    holderId:
      /\bExisting ID: (\d+)/i.exec(message)?.[1] ?? /\b(\d+) already has that value/i.exec(message)?.[1] ?? null,
    isKeyUnusable: /\bnon-unique\b/i.test(message),
  };
}

/** The one refusal that is told by its sentence alone (see the changelog above). */
export const NO_EDIT_ASSOCIATIONS = 'NO_EDIT_ASSOCIATIONS';

/** What stands in brackets at the end of `… is required because of a conditional property rule based on [country]`. */
function namesOfRule(message: string): string[] {
  const list = /\bbased on \[([a-z0-9_, ]+)\]/i.exec(message)?.[1] ?? '';
  return list.split(',').flatMap((name) => (PROPERTY_NAME.test(name.trim()) ? [name.trim()] : []));
}

/** A contact's address that another has is told as 409, another unique value by a code or by its sentence. */
function isTaken(status: number, category: string | undefined, codes: readonly string[], message: string): boolean {
  const isConflict = status === 409 || category === 'CONFLICT' || codes.includes('CONFLICTING_UNIQUE_VALUE');
  return isConflict || /already has that value/i.test(message);
}

/** What a sentence lists as JSON: `Property values were not valid: [{"name": "…", "error": "…", …}]`. */
function faultsIn(message: string): { name: string; code: string }[] {
  const start = message.indexOf('[{');
  if (start === -1) return [];
  const list = parseJson(message.slice(start, message.lastIndexOf(']') + 1));
  return Array.isArray(list) ? list.flatMap(faultOf) : [];
}

function faultOf(fault: unknown): { name: string; code: string }[] {
  if (typeof fault !== 'object' || fault === null || !('name' in fault) || !('error' in fault)) return [];
  return typeof fault.name === 'string' && typeof fault.error === 'string'
    ? [{ name: fault.name, code: fault.error }]
    : [];
}
