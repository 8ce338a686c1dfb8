import { asMirrorError } from '../../core/model/errors.ts';
import { type Problem, subjectOf } from '../../core/model/problems.ts';
import { firstWriteMissing } from '../../domain/target-traits.ts';
import type { TargetTable } from '../../engine/store.ts';
import { forTenant, message, render, type Text } from '../../messages/message.ts';
import type { ConfigurationFault } from '../../settings/faults.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { isForPerson } from './problems.ts';

/** Result of one check. */
export interface Finding {
  /** Null for the whole installation. */
  tenant: string | null;
  subject: string;
  /** A `warning` stops no work. */
  result: 'ok' | 'warning' | 'problem' | 'not-asked';
  /** Finding in fixed words, ids and figures. */
  what: Text;
  code: string | null;
  /** Next step of the operator; null if no action is required. */
  next: Text | null;
}

/** Returns a finding in English. */
export function inEnglish({ what, next, ...about }: Finding) {
  return { ...about, what: render(what), next: next === null ? null : render(next) };
}

/** Errors that a wrong URL or calendar can also cause. */
const ADDRESS_CODES = new Set([
  ...['connection-failed', 'timed-out', 'html-answer', 'not-found', 'password-refused'],
  ...['calendar-gone', 'calendar-read-only'],
]);

/**
 * Runs a check and returns the finding.
 * @param addressIn setting and file with the URL of the server, for errors that a wrong URL can cause; absent: no setting
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

/** Returns a successful finding. */
export function ok(tenant: string | null, subject: string, what: Text): Finding {
  return { tenant, subject, result: 'ok', what, code: null, next: null };
}

/** Returns the finding for a tenant that does not run because of faults: the first fault and the number of further faults. */
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
 * Fetches a nonexistent object from the target, and checks the configured calendar.
 * @param settings the tenant's file
 */
export async function targetFinding(
  { id, targetStore }: { id: string; targetStore: TargetTable },
  target: OpenTarget,
  settings: string,
  signal: AbortSignal,
): Promise<Finding> {
  const { container, readBack } = await targetStore.read(target.id);
  const location = `targets.${target.id}.settings in ${settings}`;
  let named: string | null = null;
  const ask = async (): Promise<void> => {
    // The calendar of the next cycle. A CRM has no calendar, and its `prepare` may write.
    if (target.crm === null) named = await target.connector.prepare(container, { creates: false }, signal);
    if (container === null || (named !== null && named !== container)) return;
    await target.connector.find(container, [target.identity.key('doctor', 0)], signal);
    if (readBack?.marks === null) throw firstWriteMissing(id, target.crm === null);
  };
  const well = message(container === null ? 'doctor.answers-first' : 'doctor.answers');
  const finding = await found({ tenant: id, subject: `target ${target.id}`, addressIn: location }, ask, well);
  if (finding.result !== 'ok') return finding;
  if (container === null || named === null || named === container) {
    if (readBack?.marks !== 'dropped') return finding;
    return { ...finding, result: 'warning', code: 'marks-dropped', what: message('marks-dropped') };
  }
  return {
    ...{ ...finding, result: 'warning', code: 'calendar-changed' },
    what: message('calendar-changed', { calendar: container, named }),
    next: message('calendar-changed.remedy', { tenant: id, place: location }),
  };
}

/** Returns the finding of a problem that the status reports. */
export function findingOf({ tenant, subject, texts, code, health }: Problem): Finding {
  return {
    tenant,
    subject,
    result: health === 'action-required' ? 'problem' : 'ok',
    what: texts.sentence,
    code,
    next: texts.next,
  };
}

/** Returns whether only a request that renews the connection can show the state of the problem. */
export function isResting({ code }: Pick<Problem, 'code'>): boolean {
  return code === 'login-resting';
}

/** Reports connections that the checks did not renew, after the findings that show the cause. @param view status after the checks */
export function restingFindings({ problems }: { problems: readonly Problem[] }): Finding[] {
  return problems.filter(isResting).map((problem) => {
    const next = `clinic-mirror login ${problem.tenant} ${subjectOf(problem).id}`;
    return { ...findingOf(problem), next };
  });
}
