import type { HeldItem } from '../../../control/target-objects.ts';
import { explainAddress, holdAddress } from '../../../documents/document.ts';
import { fieldChangeLines, HOLD_NAMES } from '../../../documents/names.ts';
import type { HoldView } from '../../../features/holds/hold-view.ts';
import type { TenantHold } from '../../../features/holds/holds.ts';
import { type Html, type HtmlPart, html } from '../../../model/html.ts';
import { DAY_MS, type Instant, offsetMs } from '../../../model/time.ts';
import { mayDo } from '../../operators.ts';
import type { PageContext } from '../context.ts';
import { copyable, csrfField, emptyState, hiddenFields, inlineHtml, section, table, unfolding } from '../parts.ts';
import { HOLD_REASONS, HOLDS } from '../texts/holds.ts';

/** Maximum number of single check boxes. */
const MOST_CHOSEN_ALONE = 1_000;

/** Renders all holds of a clinic, open ones first. */
export function renderHolds({ language, times }: PageContext, holds: readonly TenantHold[]): Html {
  const words = HOLDS[language];
  if (holds.length === 0) return emptyState(words.empty);
  const columns = [words.kind, words.target, words.items, words.since, words.state];
  const rows = holds.map(({ id, tenant, kind, target, recordIds, createdAt, state }) => ({
    id: `hold-${id}`,
    address: holdAddress(tenant, id),
    cells: [
      HOLD_NAMES[language][kind],
      target,
      recordIds.length,
      times.both(createdAt),
      html`<span class="${state === 'open' ? 'act' : 'quiet'}">${words[state]}</span>`,
    ],
  }));
  return table(words.title, columns, rows);
}

/** Renders one hold: reason, usual numbers, kept changes, and buttons for those with permission. */
export function renderHold(context: PageContext, view: HoldView): Html {
  const { hold, unread, requests } = view;
  const words = HOLDS[context.language];
  const isOpen = hold.state === 'open';
  const mayDecide = isOpen && context.visitor !== null && mayDo(context.visitor, 'operator');
  const requestNotices = requests.map(
    ({ by, what }) => html`<p class="notice">${words.requested(by.name, String(what.items ?? ''))}</p>`,
  );
  const unreadLine = unread === null ? null : html`<p class="notice">${words.unread(unread)}</p>`;
  const items = renderItems(context, view, mayDecide);
  return html`${factsOf(context, view)}${requestNotices}${unreadLine}${mayDecide ? decisionForm(context, view, items) : section('items', words.items, items)}`;
}

function factsOf(context: PageContext, view: HoldView): Html {
  const { hold, connector, usual } = view;
  const { limit, exceededIn } = hold;
  const { language, times } = context;
  const words = HOLDS[language];
  const isOfMessages = hold.kind === 'corrections';
  const facts: [string, HtmlPart][] = [
    [words.kind, HOLD_NAMES[language][hold.kind]],
    [
      words.why,
      html`${HOLD_REASONS[language][hold.kind]} ${isOfMessages ? words.linkedCorrections(hold.linkCount) : words.linked(hold.linkCount)}`,
    ],
    [words.target, html`${hold.target} <span class="quiet">${connector}</span>`],
    [words.since, times.both(hold.createdAt)],
  ];
  if (usual !== null) {
    const range = words.usualRange(Math.min(...usual), Math.max(...usual));
    facts.push([words.usual, html`${range} <span class="quiet">(${usual.join(', ')}: ${words.lastDays})</span>`]);
  }
  const exceeded = isOfMessages ? null : (exceededIn ?? hold.target);
  if (limit !== null) facts.push(['', words.limit(limit.count, Math.round(limit.share * 100), exceeded)]);
  if (hold.state !== 'open') {
    const when = hold.decidedAt === null ? null : times.both(hold.decidedAt);
    facts.push([words.wasDecided, html`<strong>${words[hold.state]}</strong> ${when}`]);
  } else {
    facts.push([words.ends, times.at(hold.expiresAt)]);
    facts.push([
      words.command,
      copyable(context, `clinic-mirror holds approve ${hold.tenant} ${hold.id} --seen ${hold.seen}`),
    ]);
  }
  return html`<dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function decisionForm({ visitor, language }: PageContext, { hold, items, isDivisible }: HoldView, list: Html): Html {
  const words = HOLDS[language];
  const button = (choice: string, kind: string, text: string) =>
    html`<button class="button ${kind}" name="choice" value="${choice}">${text}</button>`;
  const buttons = isDivisible
    ? [
        button('keep', 'main', words.keep),
        button('selected', 'danger', words.removeSelected),
        button('all', 'danger', words.removeAll(items.length)),
      ]
    : [
        button('keep', 'main', hold.kind === 'corrections' ? words.correctNone : words.rejectOther),
        button('all', 'danger', hold.kind === 'corrections' ? words.correctAll(items.length) : words.approveOther),
      ];
  return html`<form method="post" action="${holdAddress(hold.tenant, hold.id)}" class="stack">${csrfField(visitor)}${hiddenFields({ step: 'show', seen: hold.seen })}<div class="buttons sticky">${buttons}</div>${section('items', words.items, list)}</form>`;
}

function renderItems(context: PageContext, view: HoldView, mayDecide: boolean): Html {
  const { items, zone, isDivisible } = view;
  const words = HOLDS[context.language];
  const canChoose = mayDecide && isDivisible;
  const isTooMany = items.length > MOST_CHOSEN_ALONE;
  const agendas = byAgenda(items);
  const byAgendas = agendas.map(({ agenda, items: ofAgenda }) => {
    const name = agenda === null ? words.noAgenda : (agenda.name ?? agenda.id);
    const box = checkBox('agenda', agenda?.id ?? NONE, html`${name}: ${words.ofAgenda(ofAgenda.length)}`);
    return html`<li>${canChoose ? box : html`${name}: ${ofAgenda.length}`}</li>`;
  });
  const days = byDay(items, zone).map((day) => renderDay(context, view, day, { canChoose, isTooMany }));
  const first = agendas.length < 2 ? null : html`<h3>${words.byAgenda}</h3><ul class="boxes">${byAgendas}</ul>`;
  return html`${canChoose && isTooMany ? html`<p class="notice">${words.tooMany(MOST_CHOSEN_ALONE)}</p>` : null}${first}<h3>${words.byDay}</h3>${days}`;
}

function renderDay(
  context: PageContext,
  { hold }: HoldView,
  { date, startAt, items }: HeldDay,
  { canChoose, isTooMany }: { canChoose: boolean; isTooMany: boolean },
): Html {
  const words = HOLDS[context.language];
  const name = startAt === null ? words.noDay : context.times.day(startAt);
  const box = canChoose ? checkBox('day', date ?? NONE, words.ofDay(items.length)) : null;
  const lines = items.map((item) => {
    const line = itemLine(context, hold.tenant, item);
    const changes = fieldChangeLines(item.fieldChanges, context.language);
    const folded = { id: `fields-${item.record}`, summary: words.fields };
    const fields = changes && inlineHtml(context, { ...changes, folded });
    return html`<li>${canChoose && !isTooMany ? checkBox('item', item.record, line) : line}${fields}</li>`;
  });
  return unfolding(
    `day-${date ?? NONE}`,
    html`${name} <span class="quiet">${items.length}</span>`,
    html`<div>${box}<ul class="boxes">${lines}</ul></div>`,
  );
}

/** Renders one record: time, agenda and id, without content. */
export function itemLine({ times }: PageContext, tenant: string, { record, startAt, agenda, status }: HeldItem): Html {
  const details = [agenda?.name ?? agenda?.id ?? null, status].filter((each) => each !== null).join(', ');
  return html`<span>${startAt === null ? null : html`<strong>${times.clock(startAt)}</strong> `}<a href="${explainAddress(tenant, record)}">${record}</a> <span class="quiet">${details}</span></span>`;
}

function checkBox(name: string, value: string, text: HtmlPart): Html {
  return html`<label><input type="checkbox" name="${name}" value="${value}"> ${text}</label>`;
}

/** Records of one local day. `date` is null for records without a time. */
interface HeldDay {
  date: string | null;
  /** Start of the first record. */
  startAt: Instant | null;
  items: HeldItem[];
}

/** Records of one agenda. `agenda` is null if missing from the clinic's list. */
interface HeldAgenda {
  agenda: { id: string; name: string | null } | null;
  items: HeldItem[];
}

/** Form value for records without a day or without an agenda. */
const NONE = '-';

/** Groups records by local day, in order. */
function byDay(items: readonly HeldItem[], zone: string): HeldDay[] {
  const days = Map.groupBy(items, ({ startAt }) => dateOf(startAt, zone));
  return [...days].map(([date, ofDay]) => ({ date, startAt: ofDay[0]?.startAt ?? null, items: ofDay }));
}

/** Groups records by agenda, largest first. */
function byAgenda(items: readonly HeldItem[]): HeldAgenda[] {
  const agendas = Map.groupBy(items, ({ agenda }) => agenda?.id ?? null);
  return [...agendas.values()]
    .map((ofAgenda) => ({ agenda: ofAgenda[0]?.agenda ?? null, items: ofAgenda }))
    .toSorted((one, other) => other.items.length - one.items.length);
}

/** Returns a record's local date; null without a time. */
function dateOf(at: Instant | null, zone: string): string | null {
  if (at === null) return null;
  return new Date(Math.floor((at + offsetMs(zone, at)) / DAY_MS) * DAY_MS).toISOString().slice(0, 10);
}

/**
 * Returns the records selected in a form, singly (`item`), by day (`day`) or by agenda (`agenda`), each repeatable. Unknown values are
 * ignored.
 */
export function chosenIn(form: URLSearchParams, items: readonly HeldItem[], zone: string): HeldItem[] {
  const chosen = new Set(form.getAll('item'));
  const days = new Set(form.getAll('day'));
  const agendas = new Set(form.getAll('agenda'));
  return items.filter(
    ({ record, startAt, agenda }) =>
      chosen.has(record) || days.has(dateOf(startAt, zone) ?? NONE) || agendas.has(agenda?.id ?? NONE),
  );
}
