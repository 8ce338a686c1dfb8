import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Acting } from '../../control/recording.ts';
import type { StopSignals } from '../../jobs/push.ts';
import { type Language, LOCALES } from '../../messages/message.ts';
import { type ActVerb, maySee } from '../../model/acts.ts';
import { type Html, html } from '../../model/html.ts';
import type { Progress } from '../../model/tasks.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import type { AnyOperation, OperationContext } from '../../operations/operation.ts';
import { cookieOf, formOf, languageOf } from '../browser-request.ts';
import { type OperatorServices, servicesOf, type Visitor, visitorOf } from '../operators.ts';
import { ACTS } from './texts/frame.ts';

/** Writes times in one zone and one language, as of one moment. The zone is named once, by the frame. */
interface Times {
  zone: string;
  now: Instant;
  /** `10:41`; with the day where that is not today's, and the year where not this one. */
  text(at: Instant): string;
  /** The same as an element, with the whole of it, seconds and zone, in its title. */
  at(at: Instant): Html;
  /** `4 min ago`, `in 3 hr`. */
  age(at: Instant): string;
  /** Both: `4 min ago · 10:41`. */
  both(at: Instant): Html;
  /** `10:41`, whatever the day. */
  clock(at: Instant): string;
  /** `Mon 23 Nov`. */
  day(at: Instant): string;
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
];

/** Times for a page. @param zone IANA name */
export function timesIn(zone: string, language: Language, now: Instant): Times {
  const locale = LOCALES[language];
  const formatOf = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale, { timeZone: zone, ...options });
  const clock = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const date = formatOf({ day: 'numeric', month: 'short' });
  const dateAndYear = formatOf({ day: 'numeric', month: 'short', year: 'numeric' });
  const time = formatOf(clock);
  const whole = formatOf({ dateStyle: 'full', timeStyle: 'long' });
  const weekday = formatOf({ weekday: 'short', day: 'numeric', month: 'short' });
  const relative = new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'auto' });
  const today = dateAndYear.format(now);
  const year = today.slice(-4);
  const text = (at: Instant) => {
    const day = dateAndYear.format(at);
    if (day === today) return time.format(at);
    return `${day.endsWith(year) ? date.format(at) : day}, ${time.format(at)}`;
  };
  const element = (at: Instant) =>
    html`<time datetime="${new Date(at).toISOString()}" title="${whole.format(at)}">${text(at)}</time>`;
  const age = (at: Instant) => {
    const since = at - now;
    const [unit, unitMs] = STEPS.find(([, ms]) => Math.abs(since) >= ms) ?? ['second', SECOND_MS];
    return relative.format(Math.trunc(since / unitMs), unit);
  };
  return {
    ...{ zone, now, text, age },
    at: element,
    clock: (at) => time.format(at),
    both: (at) => html`<span class="when">${age(at)} <span class="quiet">· ${element(at)}</span></span>`,
    day: (at) => weekday.format(at),
  };
}

/** The zone that most of some clinics have, the first of them where they are even; UTC where there are none. */
function usualZone(zones: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const zone of zones) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  const [[most] = ['UTC']] = [...counts].toSorted(([, one], [, other]) => other - one);
  return most;
}

/** Cookies that keep what a visitor chose; neither tells who they are. */
export const LANGUAGE_COOKIE = 'language';
export const THEME_COOKIE = 'theme';
/** Takes what a visitor chooses of language and colours. */
export const PREFERENCES_PATH = '/preferences';

/** Colours that a visitor may choose; without a choice the browser's. */
type Theme = 'light' | 'dark';

/** What every page is made with. */
export interface PageContext {
  language: Language;
  theme: Theme | null;
  /** Null on pages for nobody in particular, such as the one to log in. */
  visitor: Visitor | null;
  /** Writes times in the clinic's zone, or in the one that most clinics of the visitor have. */
  times: Times;
  /** Path and query of the page: forms of the frame lead back to it. */
  address: string;
  /** The clinic that the page is about; null for pages about all. */
  tenant: { id: string; name: string } | null;
  /** Pages of a clinic that operations have. */
  operationPages: readonly OperationPage[];
}

/** The page of a clinic that shows the result of an operation. */
export type OperationPage = Pick<AnyOperation, 'level'> & Required<Pick<AnyOperation, 'page'>>;

declare module 'fastify' {
  interface FastifyInstance {
    /** Absent on ports without pages. */
    operationPages?: readonly OperationPage[];
  }
}

/** One request for a page, and what answers it. */
export interface PageVisit<Request extends FastifyRequest = FastifyRequest> {
  request: Request;
  reply: FastifyReply;
  services: OperatorServices;
}

/** What a page is made with. @param tenant the one that the page is about; its zone is the page's */
export function contextOf(request: FastifyRequest, { installation }: OperatorServices, tenant?: string): PageContext {
  const visitor = visitorOf(request);
  const { outlines, clock } = installation;
  const outline = tenant === undefined ? undefined : outlines.get(tenant);
  const seen = [...outlines].filter(([id]) => maySee(visitor, id)).map(([, { zone }]) => zone);
  const language = chosenLanguage(request);
  return {
    ...{ language, visitor },
    theme: chosenTheme(request),
    times: timesIn(outline?.zone ?? usualZone(seen), language, clock()),
    address: request.url,
    tenant: tenant === undefined ? null : { id: tenant, name: outline?.name ?? tenant },
    operationPages: request.server.operationPages ?? [],
  };
}

/** What a page for nobody in particular is made with. */
export function strangerContext(request: FastifyRequest, now: Instant): PageContext {
  const language = chosenLanguage(request);
  const theme = chosenTheme(request);
  const times = timesIn('UTC', language, now);
  return { language, theme, visitor: null, times, address: request.url, tenant: null, operationPages: [] };
}

/** The language that a visitor chose, else the browser's first that there are pages in. */
function chosenLanguage(request: FastifyRequest): Language {
  const chosen = cookieOf(request, LANGUAGE_COOKIE);
  if (chosen === 'it' || chosen === 'en') return chosen;
  return languageOf(request.headers['accept-language'] ?? '', 'en');
}

/** The colours that a visitor chose; null for the browser's. */
function chosenTheme(request: FastifyRequest): Theme | null {
  const chosen = cookieOf(request, THEME_COOKIE);
  return chosen === 'light' || chosen === 'dark' ? chosen : null;
}

/** Who sent a form, and why: for the verbs that change something. */
export function actingOf(request: FastifyRequest, services: OperatorServices): Acting {
  const why = formOf(request).get('why')?.trim() ?? '';
  return services.acting(visitorOf(request), why === '' ? null : why);
}

/** What an operation that a form asks for is run with. */
export function operationContext(
  request: FastifyRequest,
  services: OperatorServices,
  { progress = () => {}, signals }: { progress?: Progress; signals?: StopSignals } = {},
): OperationContext {
  const { signal } = request;
  return {
    services: servicesOf(services),
    acting: actingOf(request, services),
    rights: visitorOf(request),
    progress,
    signals: signals ?? { stop: signal, abort: signal },
  };
}

/** Where a reason is given; nothing where the verb asks for none here. */
export function reasonField(
  { language, visitor }: PageContext,
  services: OperatorServices,
  verb: ActVerb,
): Html | null {
  if (visitor === null || !services.acting(visitor, null).actServices.reasonFor.includes(verb)) return null;
  const words = ACTS[language];
  // A page may ask for several.
  const hint = `why-hint-${verb}`;
  return html`<label class="reason">${words.reason} <input name="why" required maxlength="200" aria-describedby="${hint}"></label><p class="quiet" id="${hint}">${words.reasonHint}</p>`;
}
