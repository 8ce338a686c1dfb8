import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import type { AuditView, SyncResult, TargetStatus } from '../../../control/status-schemas.ts';
import type { TaskView } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/document.ts';
import type { PageContext } from '../context.ts';
import { resultLink, resultNotice } from '../outcomes.ts';
import { failureNotice } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';
import { ACTS } from '../texts/frame.ts';
import { RESULTS } from '../texts/results.ts';

/** Renders the state of work that a page started, and the result at its end. */
export function workNotice(context: PageContext, { kind, state, error, result }: TaskView): Html {
  const { language } = context;
  const words = ACTS[language];
  const { sync, audit } = CLINIC[language];
  const what = kind === 'sync' ? sync : kind === 'audit' ? audit : kind;
  if (error !== null) return failureNotice(context, what, error);
  const heading = html`<strong>${what}:</strong>`;
  if (state === 'done' && kind === 'sync') return syncNotice(context, heading, result as SyncResult);
  if (state === 'done' && kind === 'audit') return auditNotice(context, heading, result as AuditView);
  const text = { running: words.noteBegun, done: words.noteDone, failed: words.noteFailed, lost: words.noteLost };
  return resultNotice([html`${heading} ${text[state]}`]);
}

function syncNotice(context: PageContext, heading: Html, result: SyncResult): Html {
  const { error } = result.run;
  // Callers of the API receive an error without its texts.
  const texts = error?.texts ?? { message: error?.message ?? '', remedy: error?.remedy ?? null };
  const early =
    error === null ? null : failureNotice(context, RESULTS[context.language].endedEarly, { code: error.code, texts });
  return html`${early}${resultNotice([html`${heading} ${syncSentence(context, result)}`])}`;
}

/** Renders the figures of a cycle as one sentence, with links to holds, failed changes and problems. */
export function syncSentence(context: PageContext, { tenant, run, targets }: SyncResult): Html {
  const words = RESULTS[context.language];
  const planned = run.targets.reduce((sum, target) => sum + sumOf(Object.values(target.planned)), 0);
  const [pending, failing, held] = (['pending', 'failing', 'held'] as const).map((each) =>
    sumOf(targets.map((target) => target[each])),
  ) as [number, number, number];
  const away = new Set(targets.flatMap(({ outage }) => (outage === null ? [] : [outage]))).size;
  const broken = targets.filter(({ failure, outage }) => failure !== null && outage === null).length;
  const isRest = pending + failing > 0;
  // An incomplete list proves nothing about what it lacks.
  const isPartial = run.snapshot?.completeness === 'partial';
  const isQuiet = !isRest && held + away + broken === 0 && run.error === null && !isPartial;
  const nothing = isQuiet ? words.hadAll : words.wroteNothing;
  const problems = partAddress(context, tenant, 'problems');
  const wrote = planned === 0 ? nothing : isRest ? words.decided(planned) : words.wrote(planned);
  const figures = joined([
    run.snapshot === null ? words.readNothing : words.read(run.snapshot.records),
    wrote,
    pending === 0 ? null : resultLink(partAddress(context, tenant, 'targets'), words.pending(pending)),
    failing === 0 ? null : resultLink(failedAddress(context, tenant, targets), words.failed(failing)),
    held === 0 ? null : resultLink(clinicAddress(tenant, '/holds'), words.held(held)),
  ]);
  const trouble = joined([
    isPartial ? resultLink(problems, words.partial) : null,
    away === 0 ? null : resultLink(problems, words.serversAway(away)),
    broken === 0 ? null : resultLink(problems, words.targetsFailed(broken)),
  ]);
  return html`${figures}${trouble === null ? null : html`; ${trouble}`}.`;
}

/** Returns the URL of the list of failed changes, if one target has all of them. */
function failedAddress(context: PageContext, tenant: string, targets: readonly TargetStatus[]): string {
  const [first, ...others] = targets.filter(({ failing }) => failing > 0);
  return first === undefined || others.length > 0
    ? partAddress(context, tenant, 'targets')
    : clinicAddress(tenant, `/targets/${pathSegment(first.target)}`);
}

/** Returns the URL of a part of the clinic's page. On the page itself, the URL keeps the result visible. */
function partAddress({ address }: PageContext, tenant: string, part: string): string {
  return address.split('?')[0] === clinicAddress(tenant) ? `#${part}` : clinicAddress(tenant, `#${part}`);
}

function auditNotice(context: PageContext, heading: Html, { tenant, targets }: AuditView): Html {
  const words = RESULTS[context.language];
  const compared = targets.flatMap(({ target, policy, drift }) => (drift === null ? [] : [{ target, policy, drift }]));
  const changed = compared.filter(({ drift }) => drift.edited + drift.removed > 0);
  const unread = targets.length - compared.length;
  const figures = joined([
    words.checked(sumOf(compared.map(({ drift }) => drift.checked)), compared.length),
    changed.length === 0 && compared.length > 0 ? words.noEdits : null,
    unread === 0 ? null : resultLink(partAddress(context, tenant, 'targets'), words.notRead(unread)),
  ]);
  const lines = changed.map(({ target, policy, drift: { edited, removed } }) => {
    const counts = joined([
      edited === 0 ? null : words.edited(edited),
      removed === 0 ? null : words.removedByHand(removed),
    ]);
    return html`${resultLink(clinicAddress(tenant, `/targets/${pathSegment(target)}`), context.targetName(tenant, target))}: ${counts}. ${words[policy]}`;
  });
  return resultNotice([html`${heading} ${figures}.`, ...lines]);
}

/** Joins the parts of a sentence with commas; null for none. */
export function joined(parts: readonly HtmlPart[]): Html | null {
  const shown = parts.filter((part) => part !== null);
  return shown.length === 0 ? null : html`${shown.map((part, at) => html`${at === 0 ? null : ', '}${part}`)}`;
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
