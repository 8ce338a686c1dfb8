import type { ErrorTexts } from '../../../core/model/errors.ts';
import { type Html, type HtmlPart, html } from '../../../core/model/html.ts';
import type { Health, SyncState, SyncStatus } from '../../../core/model/schemas.ts';
import { SYNC_HEALTH_WORDS, syncWords } from '../../../core/model/sync-state.ts';
import type { Instant } from '../../../core/model/time.ts';
import { render, type Text } from '../../../messages/message.ts';
import type { Block, DocumentStep, DocumentTable, Inline, Span, Texts } from '../../documents/document.ts';
import type { PageContext } from './context.ts';
import { FRAME } from './texts/frame.ts';

const en = {
  ...SYNC_HEALTH_WORDS.en,
  asOf: (time: string) => `as of ${time}`,
  since: (time: string) => `since ${time}`,
  waiting: (count: number) => `${count} wait${count === 1 ? 's' : ''}`,
};

/** The words for sync and health. */
const STATES: Texts<typeof en> = {
  en,
  it: {
    ...SYNC_HEALTH_WORDS.it,
    asOf: (time) => `alle ${time}`,
    since: (time) => `da ${time}`,
    waiting: (count) => `${count} in attesa`,
  },
};

/** A shape for each sync status, for readers who cannot distinguish colours: a full disc, half a disc, two bars, a ring. */
const SHAPES: Readonly<Record<SyncStatus, Html>> = {
  'in-sync': html`<circle cx="6" cy="6" r="5"/>`,
  behind: html`<circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5"/><path d="M6 1.5a4.5 4.5 0 0 1 0 9z"/>`,
  'on-hold': html`<path d="M2 1h3v10H2zM7 1h3v10H7z"/>`,
  unknown: html`<circle cx="6" cy="6" r="4.25" fill="none" stroke="currentColor" stroke-width="1.5" stroke-dasharray="2.2 2.2"/>`,
};

/** The colour class of each health; the word repeats it. */
const HUES: Readonly<Record<Health, string>> = { ok: 'ok', retrying: 'wait', 'action-required': 'act' };

/** Renders the sync status as shape and word. @param asOf null if it was never in sync, or if the page shows the time elsewhere */
export function syncMark(
  { language, times }: PageContext,
  syncState: Pick<SyncState, 'sync' | 'firstSync'>,
  asOf: Instant | null = null,
): Html {
  const words = STATES[language];
  const { sync } = syncState;
  const since = asOf === null ? null : html` <span class="quiet">${words.asOf(times.text(asOf))}</span>`;
  return html`<span class="mark ${sync}"><svg viewBox="0 0 12 12" aria-hidden="true">${SHAPES[sync]}</svg>${syncWords(syncState, language)}${since}</span>`;
}

/** Renders the health as one word. */
export function healthMark({ language }: PageContext, health: Health): Html {
  return html`<span class="able ${HUES[health]}">${STATES[language][health]}</span>`;
}

/** Renders a text of an error or problem in the page's language, or in English with a language mark. */
export function said({ language }: Pick<PageContext, 'language'>, text: Text): Html {
  const isForeign = typeof text === 'string' && language !== 'en';
  return isForeign ? html`<span lang="en">${text}</span>` : html`${render(text, language)}`;
}

/** Renders the display name of a target, with its id in the title. */
export function targetMark({ targetName }: PageContext, tenant: string, target: string): Html {
  return html`<span title="${target}">${targetName(tenant, target)}</span>`;
}

/** Renders the next step; commands can be copied. */
export function nextStep(context: PageContext, next: Text): Html {
  return typeof next === 'string' && next.startsWith('clinic-mirror ')
    ? copyable(context, next)
    : html`<span class="quiet">${said(context, next)}</span>`;
}

/** A table column. `isPlain` shows the title to screen readers only, because the values explain themselves. */
type Column = string | { title: string; isPlain: boolean };

interface Row {
  cells: readonly HtmlPart[];
  /** URL of the page for the row. The first cell is the link, and the whole row is clickable. */
  address?: string;
  /** Stable identity of the row, so that a live page keeps details open. */
  id?: string;
}

/**
 * Renders a table, which becomes a list of cards on a narrow screen. Figures are right-aligned, and empty columns are omitted.
 * @param caption description for screen readers
 * @param options.isDense lines of a card stand side by side on a narrow screen
 */
export function table(
  caption: string,
  columns: readonly Column[],
  rows: readonly Row[],
  { isDense = false }: { isDense?: boolean } = {},
): Html {
  const used = columns.flatMap((column, at) => {
    if (rows.length > 0 && rows.every(({ cells }) => (cells[at] ?? null) === null)) return [];
    const isFigure = rows.some(({ cells }) => typeof cells[at] === 'number');
    return [{ at, isFigure, isPlain: false, ...(typeof column === 'string' ? { title: column } : column) }];
  });
  const kind = ({ isFigure }: { isFigure: boolean }) => (isFigure ? html` class="figure"` : null);
  const head = used.map((column) => {
    const title = column.isPlain ? html`<span class="heard">${column.title}</span>` : column.title;
    return html`<th role="columnheader" scope="col"${kind(column)}>${title}</th>`;
  });
  const body = rows.map(({ id, address, cells }) => {
    const shown = used.map((column) => {
      const { at, title, isPlain } = column;
      const isLink = at === 0 && address !== undefined;
      const content = isLink ? html`<a class="row" href="${address}">${cells[at]}</a>` : cells[at];
      return html`<td role="cell" data-label="${isPlain ? '' : title}"${kind(column)}>${content}</td>`;
    });
    const name = id === undefined ? null : html` id="row-${id}"`;
    return html`<tr role="row"${name}${address === undefined ? null : html` class="leads"`}>${shown}</tr>`;
  });
  return html`<table role="table"${isDense ? html` class="dense"` : null}><caption class="heard">${caption}</caption><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">${body}</tbody></table>`;
}

/** A button that changes data. */
interface Action {
  address: string;
  text: string;
  /** Form fields in addition to the CSRF proof. */
  fields?: Readonly<Record<string, string>>;
  /** Input fields for the user. */
  more?: HtmlPart;
  /** `main`: the recommended action. `danger`: a removal. Default `plain`. */
  kind?: 'main' | 'danger' | 'plain';
}

/** Renders a button that changes data: a form with the CSRF proof. */
export function actionButton(
  { visitor }: PageContext,
  { address, text, fields = {}, more, kind = 'plain' }: Action,
): Html {
  return html`<form method="post" action="${address}">${csrfField(visitor)}${hiddenFields(fields)}${more}<button class="button ${kind}">${text}</button></form>`;
}

/** Renders the CSRF field of every form that changes data. */
export function csrfField(visitor: PageContext['visitor']): Html | null {
  return visitor === null ? null : hiddenFields({ csrf: visitor.csrf });
}

/** Renders hidden form fields. */
export function hiddenFields(fields: Readonly<Record<string, string>>): Html {
  return html`${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}`;
}

/** Renders a navigation link with the look of a button. */
export function linkButton(address: string, text: string, kind: 'main' | 'plain' = 'main'): Html {
  return html`<a class="button ${kind}" href="${address}">${text}</a>`;
}

/** Renders a command or id that a click copies. */
export function copyable({ language }: PageContext, text: string): Html {
  return html`<span class="copyable"><code>${text}</code><button type="button" class="copy" data-copy="${text}" data-done="${FRAME[language].copied}" hidden>${FRAME[language].copy}</button></span>`;
}

/** Renders an empty list: the future content, and the next step. */
export function emptyState(text: string, more: HtmlPart = null): Html {
  return html`<div class="empty"><p>${text}</p>${more}</div>`;
}

/** Renders unfoldable details. @param id stable, so that a live page keeps details open */
export function unfolding(id: string, summary: HtmlPart, content: HtmlPart): Html {
  return html`<details id="${id}"><summary>${summary}</summary>${content}</details>`;
}

/** Renders a section with a heading. */
export function section(id: string, heading: string, content: HtmlPart, extra: HtmlPart = null): Html {
  return html`<section aria-labelledby="${id}"><div class="head"><h2 id="${id}">${heading}</h2>${extra}</div>${content}</section>`;
}

/** Renders the link to the next page of a list; null on the last page. */
export function pager({ language }: PageContext, address: string | null): Html | null {
  return address === null
    ? null
    : html`<nav class="pager" aria-label="${FRAME[language].next}"><a class="button plain" rel="next" href="${address}">${FRAME[language].next}</a></nav>`;
}

/** A failure and its remedy, from constant words, ids and codes. */
interface Failing {
  code: string;
  texts: ErrorTexts;
}

/** Renders a failure with its remedy. @param heading null if the message suffices */
export function failureNotice(context: PageContext, heading: string | null, failing: Failing): Html {
  const {
    code,
    texts: { message, remedy },
  } = failing;
  const lead = heading === null ? null : html`<strong>${heading}</strong>: `;
  const next = remedy
    ? html`<p class="quiet">${FRAME[context.language].whatToDo}: ${nextStep(context, remedy)}</p>`
    : null;
  return html`<div class="notice act" role="status"><p>${lead}${said(context, message)} <code>${code}</code></p>${next}</div>`;
}

/** Renders a notice for the user. */
export function notice(content: HtmlPart): Html {
  return html`<div class="notice"><p>${content}</p></div>`;
}

/** Renders a document as a part of a page. */
export function printHtml(context: PageContext, blocks: readonly Block[]): Html {
  return html`${blocks.map((block) => printBlock(context, block))}`;
}

/** Renders a sentence of a document. */
export function inlineHtml(context: PageContext, inline: Inline): HtmlPart {
  if (inline === null || typeof inline !== 'object') return inline;
  return 'is' in inline ? spanHtml(context, inline) : inline.map((each) => inlineHtml(context, each));
}

function spanHtml(context: PageContext, span: Span): Html {
  const { times } = context;
  switch (span.is) {
    case 'time':
      return span.hasAge ? times.both(span.at) : times.at(span.at);
    case 'range':
      return span.startAt === span.endAt
        ? times.at(span.startAt)
        : html`${times.at(span.startAt)}–${times.clock(span.endAt)}`;
    case 'code':
      return html`<code>${span.text}</code>`;
    case 'command':
      return copyable(context, span.text);
    case 'link':
      return html`<a href="${span.address}">${inlineHtml(context, span.content)}</a>`;
    case 'tone': {
      const content = inlineHtml(context, span.content);
      return span.tone === 'strong'
        ? html`<strong>${content}</strong>`
        : html`<span class="${span.tone}">${content}</span>`;
    }
    case 'lines': {
      const list = html`<ul class="changes">${span.lines.map((line) => html`<li>${inlineHtml(context, line)}</li>`)}</ul>`;
      return span.folded === null ? list : unfolding(span.folded.id, span.folded.summary, list);
    }
  }
}

function printBlock(context: PageContext, block: Block): Html {
  switch (block.is) {
    case 'paragraph':
      return html`<p>${inlineHtml(context, block.content)}</p>`;
    case 'empty':
      return emptyState(block.text);
    case 'facts':
      return html`<dl class="facts">${block.facts.map(([name, value]) => html`<dt>${name}</dt><dd>${inlineHtml(context, value)}</dd>`)}</dl>`;
    case 'steps':
      return html`<ol class="way" aria-label="${block.label}">${block.steps.map((step) => printStep(context, step))}</ol>`;
    case 'table':
      return printTable(context, block);
    case 'section': {
      const { id, heading, sideText, folded, blocks } = block;
      if (folded !== undefined) {
        const summary = html`<strong>${heading}</strong> ${sideText} <span class="quiet">${folded}</span>`;
        return unfolding(id, summary, html`<div class="stack">${printHtml(context, blocks)}</div>`);
      }
      const extra = sideText === null ? null : html`<span class="quiet">${sideText}</span>`;
      return section(id, heading, printHtml(context, blocks), extra);
    }
  }
}

function printStep(context: PageContext, { name, state, at, lines }: DocumentStep): Html {
  const when = at === null ? null : context.times.both(at);
  const shownLines = lines.filter((line) => line !== null && line !== '');
  return html`<li class="${state}"><p class="name">${name} ${when}</p>${shownLines.map((line) => html`<p>${inlineHtml(context, line)}</p>`)}</li>`;
}

/** Rows of a table that a page shows without folding. */
const MOST_UNFOLDED = 20;

function printTable(context: PageContext, block: DocumentTable): Html {
  const { caption, rows } = block;
  const groups = Map.groupBy(rows, ({ group }) => group ?? null);
  if (rows.length <= MOST_UNFOLDED || groups.has(null)) return printRows(context, block);
  // Groups share the maximum number of rows; what a group omits is stated in the group.
  let remaining = block.most.page;
  const folds = [...groups].map(([group, ofGroup], at) => {
    const most = { ...block.most, page: remaining };
    remaining = Math.max(0, remaining - ofGroup.length);
    const content = printRows(context, { ...block, caption: `${caption}, ${group}`, rows: ofGroup, most });
    const summary = html`${group} <span class="quiet">${ofGroup.length}</span>`;
    return unfolding(`${ofGroup[0]?.id ?? at}-group`, summary, html`<div>${content}</div>`);
  });
  return html`<div class="folds">${folds}</div>`;
}

function printRows(context: PageContext, { caption, headings, rows, most, more }: DocumentTable): Html {
  const shown = rows.slice(0, most.page).map(({ cells, ...row }) => ({
    ...row,
    cells: cells.map((cell) =>
      Array.isArray(cell) ? html`<div>${inlineHtml(context, cell)}</div>` : inlineHtml(context, cell),
    ),
  }));
  const rest = rows.length - shown.length;
  const list = shown.length === 0 ? null : table(caption, headings, shown);
  return html`${list}${rest > 0 ? html`<p class="quiet">${inlineHtml(context, more(rest))}</p>` : null}`;
}
