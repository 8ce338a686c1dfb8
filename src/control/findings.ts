import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { forTenant, message, render, type Text } from '../messages/message.ts';
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
  what: Text;
  code: string | null;
  /** What an operator does next; null if nothing is to be done. */
  next: Text | null;
}

/** A finding in English. */
export function inEnglish({ what, next, ...about }: Finding) {
  return { ...about, what: render(what), next: next === null ? null : render(next) };
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
  well: Text | (() => Text),
): Promise<Finding> {
  try {
    await ask();
    return ok(tenant, subject, typeof well === 'function' ? well() : well);
  } catch (error) {
    const { texts, code, actor } = asMirrorError(error);
    const remedy =
      forTenant(texts.remedy, tenant ?? '<tenant>') ?? (isForPerson(actor) ? null : message('wait-or-ask'));
    const about = { tenant, subject, result: 'problem', what: texts.message, code } as const;
    if (addressIn === undefined || !ADDRESS_CODES.has(code)) return { ...about, next: remedy };
    return {
      ...about,
      next: message(remedy === null ? 'see-place' : 'remedy-and-place', { remedy: remedy ?? '', place: addressIn }),
    };
  }
}

/** What is as it should be. */
export function ok(tenant: string | null, subject: string, what: Text): Finding {
  return { tenant, subject, result: 'ok', what, code: null, next: null };
}

/** A tenant that is not run for faults of its configuration: the first of them, and how many more there are. */
export function invalidTenantFinding(tenant: string, faults: readonly ConfigurationFault[]): Finding {
  const [first, ...others] = faults;
  const about = { tenant, subject: 'configuration', result: 'problem', code: 'tenant-set-aside' } as const;
  if (first === undefined) return { ...about, what: message('file-faulty'), next: message('tenant-faulty.remedy') };
  const values = { place: locationOf(first), fault: first.message };
  const more = others.length;
  return {
    ...about,
    what: more === 0 ? message('file-faulty.at', values) : message('file-faulty.at-more', { ...values, more }),
    next: message('first-remedy-check', { remedy: first.remedy }),
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
  const well = message(container === null ? 'doctor.answers-first' : 'doctor.answers');
  const finding = await found({ tenant: id, subject: `target ${target.id}`, addressIn: location }, ask, well);
  if (finding.result !== 'ok' || named === null || named === container) return finding;
  return {
    ...{ ...finding, result: 'warning', code: 'calendar-changed' },
    what: message('calendar-changed', { calendar: container ?? '', named }),
    next: message('calendar-changed.remedy', { tenant: id, place: location }),
  };
}

/** The calendar that the settings name, as the state remembers calendars; null for a calendar made by clinic-mirror, and for a CRM. */
async function namedCalendar({ crm, connector }: OpenTarget, signal: AbortSignal): Promise<string | null> {
  // Without `locate` the settings name an existing calendar: `prepare` makes none.
  return crm === null && connector.locate === undefined ? await connector.prepare(null, signal) : null;
}
