import { type Html, html } from '../../model/html.ts';
import type { Problem } from '../../model/problems.ts';
import { mayDo } from '../visitors.ts';
import type { PageContext } from './context.ts';
import { explainAddress } from './explain/address.ts';
import { clinicAddress } from './navigation.ts';
import { linkButton, nextStep, said, table } from './parts.ts';
import { OVERVIEW } from './texts/overview.ts';

/** Whose it is, and where that is looked at. */
export interface ProblemPlaces {
  nameOf(tenant: string): string;
  /** Null for one that is not open, since its file has faults. */
  pageOf(tenant: string): string | null;
}

/**
 * What is the matter, one row each: the sentence that every surface repeats, since when, what waits, and one thing to do.
 * @param places null on the page of the clinic itself
 */
export function problemTable(
  context: PageContext,
  caption: string,
  problems: readonly Problem[],
  places: ProblemPlaces | null,
): Html {
  const words = OVERVIEW[context.language];
  const columns = [
    ...(places === null ? [] : [{ title: words.clinic }]),
    { title: words.what },
    { title: words.since },
    { title: words.waiting, isFigure: true },
    { title: words.toDo },
  ];
  const rows = problems.map((problem) => {
    const { tenant, subject, code, sentence, sinceAt, nextTryAt, waiting } = problem;
    const name = tenant === null ? words.everywhere : (places?.nameOf(tenant) ?? tenant);
    const page = tenant === null ? null : (places?.pageOf(tenant) ?? null);
    const again =
      nextTryAt === null ? null : html` <span class="quiet">${words.nextTry(context.times.text(nextTryAt))}</span>`;
    const hasPage = tenant !== null && (places === null || page !== null);
    return {
      id: `problem ${tenant ?? ''} ${subject} ${code}`.replaceAll(/[^\w-]+/g, '-'),
      ...(page === null ? {} : { address: page }),
      cells: [
        ...(places === null ? [] : [name]),
        html`<span class="what"><span class="quiet">${said(context, subject)}:</span> ${said(context, sentence)} <code>${code}</code>${again}</span>`,
        sinceAt === null ? null : context.times.both(sinceAt),
        waiting === 0 ? null : waiting,
        toDo(context, problem, hasPage),
      ],
    };
  });
  return table(caption, columns, rows);
}

/** One button where a page leads on, else the command. */
function toDo(context: PageContext, problem: Problem, hasPage: boolean): Html | null {
  const { tenant, subject, code, next } = problem;
  const words = OVERVIEW[context.language];
  const [kind = ''] = subject.split(' ');
  const id = subject.slice(kind.length + 1);
  if (tenant !== null && hasPage) {
    const isOperator = context.visitor !== null && mayDo(context.visitor, 'operator');
    if (kind === 'login' && isOperator) {
      return linkButton(clinicAddress(tenant, `/connections/${encodeURIComponent(id)}`), words.connect);
    }
    if (kind === 'appointment') return linkButton(explainAddress(tenant, id), words.look);
    if ((kind === 'target' && code === 'held') || code === 'corrections-held')
      return linkButton(clinicAddress(tenant, '/holds'), words.decide);
    if (kind === 'target' && code === 'failing') {
      return linkButton(clinicAddress(tenant, `/targets/${encodeURIComponent(id)}`), words.look);
    }
  }
  return next === null ? null : nextStep(context, next);
}
