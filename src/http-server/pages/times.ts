import { LOCALES } from '../../features/reminders/texts/texts.ts';
import type { Language } from '../../messages/message.ts';
import { type Html, html } from '../../model/html.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../model/time.ts';

/** Writes times in one zone and one language, as of one moment. The zone is named once, by the frame. */
export interface Times {
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
export function usualZone(zones: Iterable<string>): string {
  const counts = new Map<string, number>();
  for (const zone of zones) counts.set(zone, (counts.get(zone) ?? 0) + 1);
  const [[most] = ['UTC']] = [...counts].toSorted(([, one], [, other]) => other - one);
  return most;
}
