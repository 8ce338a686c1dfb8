import type { Block, DocumentStep, DocumentTable, Inline, Span } from '../../documents/document.ts';
import { type Html, type HtmlPart, html } from '../../model/html.ts';
import type { PageContext } from './context.ts';
import { copyable, emptyState, section, table, unfolding } from './parts.ts';

/** A view as a part of a page. */
export function printHtml(context: PageContext, blocks: readonly Block[]): Html {
  return html`${blocks.map((block) => printBlock(context, block))}`;
}

/** A sentence of a view. */
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
      const { id, heading, aside, blocks } = block;
      const extra = aside === null ? null : html`<span class="quiet">${aside}</span>`;
      return section(id, heading, printHtml(context, blocks), extra);
    }
  }
}

function printStep(context: PageContext, { name, state, at, lines }: DocumentStep): Html {
  const when = at === null ? null : context.times.both(at);
  const shownLines = lines.filter((line) => line !== null && line !== '');
  return html`<li class="${state}"><p class="name">${name} ${when}</p>${shownLines.map((line) => html`<p>${inlineHtml(context, line)}</p>`)}</li>`;
}

function printTable(context: PageContext, { caption, headings, rows, most, more }: DocumentTable): Html {
  const shown = rows.slice(0, most.page).map(({ cells, ...row }) => ({
    ...row,
    cells: cells.map((cell) =>
      Array.isArray(cell) ? html`<div>${inlineHtml(context, cell)}</div>` : inlineHtml(context, cell),
    ),
  }));
  const rest = rows.length - shown.length;
  return html`${table(caption, headings, shown)}${rest > 0 ? html`<p class="quiet">${inlineHtml(context, more(rest))}</p>` : null}`;
}
