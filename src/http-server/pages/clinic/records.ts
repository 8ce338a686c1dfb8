import type { TenantStatus } from '../../../control/status-view.ts';
import { type Html, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { section, table } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';
import { targetAddress } from './targets.ts';

/** How a clinic's records stand in each target, and which rows of the clinic can't be used; ids and codes, nothing of what they say. */
export function recordsPart(context: PageContext, { tenant, targets, lastRun }: TenantStatus): Html | null {
  if (targets.length === 0) return null;
  const words = CLINIC[context.language];
  const columns = [words.target, words.recordsOf, words.pending, words.failing, words.held, words.excluded];
  const rows = targets.map(({ target, links, firstSync, pending, failing, held }) => {
    const run = lastRun?.targets.find((each) => each.target === target);
    return {
      id: `records-${target}`,
      address: targetAddress(tenant, target),
      cells: [
        target,
        firstSync?.written ?? Math.max(0, links - pending),
        pending,
        failing,
        held,
        byCode(run?.leftOut ?? {}),
      ],
    };
  });
  return section(
    'records',
    words.records,
    html`${table(words.records, columns, rows)}${invalidRows(context, lastRun)}`,
  );
}

function invalidRows({ language }: PageContext, lastRun: TenantStatus['lastRun']): Html | null {
  if (lastRun === null || Object.keys(lastRun.setAside).length === 0) return null;
  const words = CLINIC[language];
  const rows = lastRun.setAsideExamples.map(({ recordId, code, field }) => ({
    cells: [html`<code>${recordId ?? '–'}</code>`, html`<code>${code}</code>`, html`<code>${field}</code>`],
  }));
  const columns = [words.record, words.why, words.field];
  return html`<div class="stack aside"><h3>${words.setAside}</h3><p>${words.setAsideText} ${byCode(lastRun.setAside)}</p>${rows.length === 0 ? null : table(words.setAside, columns, rows)}</div>`;
}

/** Counts, each with its code. */
export function byCode(counts: Readonly<Record<string, number>>): Html[] {
  return Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([code, count], at) => html`${at === 0 ? '' : ', '}${count} <code>${code}</code>`);
}
