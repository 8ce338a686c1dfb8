import type { RunView } from '../../../control/runs.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { reasonWord } from '../../../documents/reasons.ts';
import { type Html, html } from '../../../model/html.ts';
import { SECOND_MS } from '../../../model/time.ts';
import { mayDo } from '../../visitors.ts';
import type { PageContext } from '../context.ts';
import { emptyState, linkButton, said, section, table, unfolding } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';

/** Runs that did something, of those that are looked at. */
const SHOWN = 12;

/** What a clinic's last cycles did: those that changed or held something, or failed, each to be unfolded. */
export function runsPart(context: PageContext, tenant: string, runs: readonly RunView[]): Html {
  const words = CLINIC[context.language];
  if (runs.length === 0) return section('runs', words.runs, emptyState(words.noRuns));
  const busy = runs.filter((run) => changesOf(run) + heldOf(run) > 0 || run.error !== null);
  const quiet = html`<p class="quiet more">${words.quietRuns(runs.length - busy.length, runs.length)}</p>`;
  const shown = busy.slice(0, SHOWN).map((run) => runDetails(context, tenant, run));
  return section(
    'runs',
    words.runs,
    html`${shown.length === 0 ? null : html`<div class="folds">${shown}</div>`}${quiet}`,
  );
}

function runDetails(context: PageContext, tenant: string, run: RunView): Html {
  const words = CLINIC[context.language];
  const { id, startedAt, finishedAt, error, snapshot, near } = run;
  const held = heldOf(run);
  const told = [
    changesOf(run) === 0 ? null : words.changes(changesOf(run)),
    held === 0 ? null : html`<span class="hold">${words.heldBack(held)}</span>`,
    error === null ? null : html`<span class="act"><code>${error.code}</code></span>`,
  ].filter((each) => each !== null);
  const took = `${((finishedAt - startedAt) / SECOND_MS).toFixed(1)} s`;
  const summary = html`${context.times.both(startedAt)}${told.map((each) => html` · ${each}`)} <span class="quiet">· ${took}</span>`;
  const read =
    near === null
      ? snapshot && words.recordsRead(snapshot.records, snapshot.requests)
      : words.nearRead(near.records, near.requests);
  const failure = error === null ? null : html`<p>${said(context, error.texts.message)} <code>${error.code}</code></p>`;
  const content = html`<p class="quiet">${words.run} <code>${id}</code>${read === null ? null : html` · ${read}`}</p>${failure}${written(context, run)}${undoButton(context, tenant, run)}`;
  return unfolding(`run-${id}`, summary, content);
}

/** By target, what was decided and why. */
function written({ language }: PageContext, { targets }: RunView): Html | null {
  const words = CLINIC[language];
  const shown = targets.filter(({ planned, held }) => held > 0 || Object.values(planned).some((count) => count > 0));
  if (shown.length === 0) return null;
  const rows = shown.map(({ target, planned, held, unchanged }) => ({
    cells: [
      target,
      Object.entries(planned)
        .filter(([, count]) => count > 0)
        .map(([reason, count]) => `${count} ${reasonWord(reason, language)}`)
        .join(', '),
      held,
      unchanged,
    ],
  }));
  const columns = [words.target, words.why, words.held, words.unchanged];
  return table(words.run, columns, rows);
}

function undoButton({ visitor, language }: PageContext, tenant: string, { id, undoable }: RunView): Html | null {
  if (undoable === null || visitor === null || !mayDo(visitor, 'operator')) return null;
  const address = clinicAddress(tenant, `/runs/${encodeURIComponent(id)}/undo`);
  return html`<p>${linkButton(address, CLINIC[language].undo, 'plain')}</p>`;
}

function changesOf({ targets }: RunView): number {
  return targets.reduce((sum, { planned }) => sum + Object.values(planned).reduce((one, other) => one + other, 0), 0);
}

function heldOf({ targets }: RunView): number {
  return targets.reduce((sum, { held }) => sum + held, 0);
}
