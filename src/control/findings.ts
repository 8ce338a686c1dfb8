import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { forTenant } from '../messages/message.ts';
import { asMirrorError } from '../model/errors.ts';
import type { ConfigurationFault } from '../settings/faults.ts';
import { isForPerson } from './problems.ts';

/** One thing that was looked at. */
export interface Finding {
  /** Null for what concerns the whole installation. */
  tenant: string | null;
  subject: string;
  /** A `warning` keeps nothing from going on. */
  result: 'ok' | 'warning' | 'problem' | 'not-asked';
  /** What was found: constant words, ids and figures. */
  what: string;
  code: string | null;
  /** What a person does next; null where nothing is to be done. */
  next: string | null;
}

/** What also a wrong address, or another calendar than was meant, may lead to. */
const ADDRESS_CODES = new Set([
  ...['connection-failed', 'timed-out', 'html-answer', 'not-found', 'password-refused'],
  ...['calendar-gone', 'calendar-read-only'],
]);

/**
 * What asking something found.
 * @param addressIn the setting that names what is asked, with its file: told where that may be wrong; absent: none does
 */
export async function found(
  { tenant, subject, addressIn }: { tenant: string | null; subject: string; addressIn?: string },
  ask: () => Promise<unknown>,
  well: string | (() => string),
): Promise<Finding> {
  try {
    await ask();
    return ok(tenant, subject, typeof well === 'string' ? well : well());
  } catch (error) {
    const { message, code, remedy, actor } = asMirrorError(error);
    const nextStep = forTenant(remedy, tenant ?? '<tenant>') ?? (isForPerson(actor) ? null : 'wait, or ask again');
    const isOfAddress = addressIn !== undefined && ADDRESS_CODES.has(code);
    const next = isOfAddress ? [nextStep, `see ${addressIn}`].filter(Boolean).join('; ') : nextStep;
    return { tenant, subject, result: 'problem', what: message, code, next };
  }
}

/** What is as it should be. */
export function ok(tenant: string | null, subject: string, what: string): Finding {
  return { tenant, subject, result: 'ok', what, code: null, next: null };
}

/** A tenant that is not run for faults of its configuration: the first of them, and how many more there are. */
export function invalidTenantFinding(tenant: string, faults: readonly ConfigurationFault[]): Finding {
  const [first] = faults;
  const more = faults.length > 1 ? `, and ${faults.length - 1} more` : '';
  const what = first === undefined ? 'its file has faults' : `${locationOf(first)}: ${first.message}${more}`;
  const next = [first?.remedy, 'then run: clinic-mirror config check'].filter(Boolean).join('; ');
  return {
    ...{ tenant, subject: 'configuration', result: 'problem', code: 'tenant-set-aside' },
    ...{ what: `it is not run: ${what}`, next },
  };
}

function locationOf({ file, line, path }: ConfigurationFault): string {
  return [line === null ? file : `${file} line ${line}`, path].filter((part) => part !== '').join(', ');
}

/**
 * Asks the target for something that is not there, and which calendar its settings name.
 * @param settings the tenant's file
 */
export async function targetFinding(
  { id, targetStore }: Pick<OpenTenant, 'id' | 'targetStore'>,
  target: OpenTarget,
  settings: string,
  signal: AbortSignal,
): Promise<Finding> {
  const { container } = await targetStore.read(target.id);
  const location = `targets.${target.id}.settings in ${settings}`;
  let named: string | null = null;
  const ask = async (): Promise<void> => {
    if (container === null) {
      await target.connector.locate?.(signal);
      return;
    }
    named = await namedCalendar(target, signal);
    if (named === null || named === container)
      await target.connector.find(container, [target.identity.key('doctor', 0)], signal);
  };
  const well = container === null ? 'answers; nothing was written to it yet' : 'answers';
  const finding = await found({ tenant: id, subject: `target ${target.id}`, addressIn: location }, ask, well);
  if (finding.result !== 'ok' || named === null || named === container) return finding;
  return {
    ...{ ...finding, result: 'warning', code: 'calendar-changed' },
    what: `it writes to the calendar ${container} until its next cycle, and its settings name ${named}`,
    next: `to fill the new calendar, run: clinic-mirror sync ${id}; events in the other calendar stay there; to keep that calendar, correct ${location}`,
  };
}

/** The calendar that the settings name, as the state remembers calendars; null for a calendar made by clinic-mirror, and for a CRM. */
async function namedCalendar({ crm, connector }: OpenTarget, signal: AbortSignal): Promise<string | null> {
  // Without `locate` the settings name an existing calendar: `prepare` makes none.
  return crm === null && connector.locate === undefined ? await connector.prepare(null, signal) : null;
}
