import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ActVerb, maySee } from '../../../core/model/acts.ts';
import { type Html, html } from '../../../core/model/html.ts';
import type { Progress } from '../../../core/model/tasks.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../../core/model/time.ts';
import type { StopSignals } from '../../../engine/push.ts';
import { type Language, LOCALES } from '../../../messages/message.ts';
import type { Installation } from '../../control/installation.ts';
import type { Acting } from '../../control/recording.ts';
import { type TargetNames, targetNamesOf } from '../../control/target-names.ts';
import type { AnyOperation, OperationContext } from '../../operations/operation.ts';
import { cookieOf, formOf, languageOf } from '../browser-request.ts';
import { type OperatorServices, servicesOf, type Visitor, visitorOf } from '../operators.ts';
import { ACTS } from './texts/frame.ts';

/** Formats times in one zone and language at one moment. The frame shows the zone once. */
interface Times {
  zone: string;
  now: Instant;
  /** `10:41`, with the day if not today and the year if not the current year. */
  text(at: Instant): string;
  /** An element with the short text, and with seconds and zone in its title. */
  at(at: Instant): Html;
  /** `4 min ago`, `in 3 hr`. */
  age(at: Instant): string;
  /** Age and time: `4 min ago · 10:41`. */
  both(at: Instant): Html;
  /** `10:41` for any day. */
  clock(at: Instant): string;
  /** `Mon 23 Nov`. */
  day(at: Instant): string;
}

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', DAY_MS],
  ['hour', HOUR_MS],
  ['minute', MINUTE_MS],
];

/** Returns the time formats for a page. @param zone IANA name */
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

/** Returns the most frequent zone, the first one if equal, UTC for none. */
function usualZone(zones: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const zone of zones) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  const [[most] = ['UTC']] = [...counts].toSorted(([, one], [, other]) => other - one);
  return most;
}

/** Cookies for display preferences; neither identifies a visitor. */
export const LANGUAGE_COOKIE = 'language';
export const THEME_COOKIE = 'theme';
/** Receives the choice of language and colours. */
export const PREFERENCES_PATH = '/preferences';

/** Colours; without a choice, the browser's preference applies. */
type Theme = 'light' | 'dark';

/** Context of every page. */
export interface PageContext {
  language: Language;
  theme: Theme | null;
  /** Null on public pages, such as the sign-in page. */
  visitor: Visitor | null;
  /** Formats times in the clinic's zone, or in the most frequent zone of the visible clinics. */
  times: Times;
  /** Path and query of the page, to which forms of the frame return. */
  address: string;
  /** The page's clinic; null for pages about all. */
  tenant: { id: string; name: string } | null;
  /** Returns the display name of a target, on each page and in each list; the id of an unknown target. */
  targetName(tenant: string, target: string): string;
  /** Pages of a clinic that operations define. */
  operationPages: readonly OperationPage[];
}

/** A clinic page for the result of an operation. */
export type OperationPage = Pick<AnyOperation, 'level'> & Required<Pick<AnyOperation, 'page'>>;

declare module 'fastify' {
  interface FastifyInstance {
    /** Absent on ports without pages. */
    operationPages?: readonly OperationPage[];
  }
}

/** One page request and its reply. */
export interface PageVisit<Request extends FastifyRequest = FastifyRequest> {
  request: Request;
  reply: FastifyReply;
  services: OperatorServices;
}

/** Returns the context of a page. @param tenant the page's clinic, whose zone applies */
export function contextOf(request: FastifyRequest, { installation }: OperatorServices, tenant?: string): PageContext {
  const visitor = visitorOf(request);
  const { outlines, clock } = installation;
  const outline = tenant === undefined ? undefined : outlines.get(tenant);
  const open = tenant === undefined ? undefined : installation.tenants.get(tenant);
  const seen = [...outlines].filter(([id]) => maySee(visitor, id)).map(([, { zone }]) => zone);
  const language = chosenLanguage(request);
  return {
    ...{ language, visitor },
    theme: chosenTheme(request),
    times: timesIn(outline?.zone ?? usualZone(seen), language, clock()),
    address: request.url,
    tenant: tenant === undefined ? null : { id: tenant, name: outline?.name ?? tenant },
    targetName: targetNamesIn(installation),
    operationPages: (request.server.operationPages ?? []).filter(
      ({ page }) => open === undefined || page.isOf?.(open) !== false,
    ),
  };
}

/** Returns the names of targets, computed once for each clinic of a page. */
function targetNamesIn({ tenants }: Installation): PageContext['targetName'] {
  const byTenant = new Map<string, ReadonlyMap<string, TargetNames>>();
  return (tenant, target) => {
    const open = byTenant.has(tenant) ? undefined : tenants.get(tenant);
    if (open !== undefined) byTenant.set(tenant, targetNamesOf(open));
    return byTenant.get(tenant)?.get(target)?.name ?? target;
  };
}

/** Returns the context of a public page. */
export function strangerContext(request: FastifyRequest, now: Instant): PageContext {
  const language = chosenLanguage(request);
  const theme = chosenTheme(request);
  const times = timesIn('UTC', language, now);
  const targetName = (_tenant: string, target: string) => target;
  return { language, theme, visitor: null, times, address: request.url, tenant: null, targetName, operationPages: [] };
}

/** Returns the chosen language, otherwise the browser's first supported language. */
function chosenLanguage(request: FastifyRequest): Language {
  const chosen = cookieOf(request, LANGUAGE_COOKIE);
  if (chosen === 'it' || chosen === 'en') return chosen;
  return languageOf(request.headers['accept-language'] ?? '', 'en');
}

/** Returns the chosen colours; null for the browser's preference. */
function chosenTheme(request: FastifyRequest): Theme | null {
  const chosen = cookieOf(request, THEME_COOKIE);
  return chosen === 'light' || chosen === 'dark' ? chosen : null;
}

/** Returns the sender and reason of a form, for verbs that change data. */
export function actingOf(request: FastifyRequest, services: OperatorServices): Acting {
  const why = formOf(request).get('why')?.trim() ?? '';
  return services.acting(visitorOf(request), why === '' ? null : why);
}

/** Returns the context for an operation from a form. */
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

/** Renders the field for a reason, if the verb requires one. */
export function reasonField(
  { language, visitor }: PageContext,
  services: OperatorServices,
  verb: ActVerb,
): Html | null {
  if (visitor === null || !services.acting(visitor, null).actServices.reasonFor.includes(verb)) return null;
  const words = ACTS[language];
  // A page can contain several such fields.
  const hint = `why-hint-${verb}`;
  return html`<label class="reason">${words.reason} <input name="why" required maxlength="200" aria-describedby="${hint}"></label><p class="quiet" id="${hint}">${words.reasonHint}</p>`;
}
