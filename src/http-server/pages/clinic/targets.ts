import type { TargetStatus } from '../../../control/status-view.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { type Html, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { canGoOnMark, emptyState, inStepMark, section, table } from '../parts.ts';
import { CLINIC } from '../texts/clinic.ts';

/** A clinic's targets, with the two axes of each. @param isCalendar whether a target has a week to be looked at */
export function targetsPart(
  context: PageContext,
  tenant: string,
  targets: readonly TargetStatus[],
  isCalendar: (target: string) => boolean,
): Html {
  const words = CLINIC[context.language];
  if (targets.length === 0) return section('targets', words.targets, emptyState(words.noTargets));
  const columns = [
    words.target,
    words.inStep,
    words.able,
    words.links,
    words.pending,
    words.held,
    words.failing,
    { title: words.week, isPlain: true },
  ];
  const rows = targets.map((each) => {
    const { target, connector, canGoOn, inSyncAsOf, exceptGapsAsOf, links, pending, held, failing } = each;
    const except =
      exceptGapsAsOf === null
        ? null
        : html`<br><span class="quiet">${words.exceptGaps(context.times.text(exceptGapsAsOf))}</span>`;
    const address = targetAddress(tenant, target);
    return {
      ...{ id: target, address },
      cells: [
        html`${target} <span class="quiet plain">${connector}</span>`,
        html`${inStepMark(context, each, inSyncAsOf)}${except}`,
        canGoOnMark(context, canGoOn),
        ...[links, pending, held, failing],
        isCalendar(target) ? html`<a class="button plain" href="${address}/week">${words.week}</a>` : null,
      ],
    };
  });
  return section('targets', words.targets, table(words.targets, columns, rows));
}

/** Where a target's records are. */
export function targetAddress(tenant: string, target: string): string {
  return clinicAddress(tenant, `/targets/${encodeURIComponent(target)}`);
}
