import ICAL from 'ical.js';
import MailComposer from 'nodemailer/lib/mail-composer';
import { escapeHtml } from '../../../../core/model/html.ts';
import { foldLines } from '../../../../core/model/text.ts';
import type { Instant } from '../../../../core/model/time.ts';
import { linkLabel, type Reminder, textWithLink } from '../channel.ts';
import type { EmailSettings } from './schemas.ts';

const STYLE = 'font:16px/1.5 sans-serif;max-width:36em;margin:1em auto;padding:0 1em';

/**
 * Unsubscribe by mail and by one click.
 * @see RFC 2369
 * @see RFC 8058
 */
interface Unsubscribe {
  'List-Unsubscribe': string;
  'List-Unsubscribe-Post'?: string;
}

/**
 * Returns a mail as bytes: text and HTML, without external content or tracking.
 * @param to a validated e-mail address, the only recipient
 * @param unsubscribeUrl one-click unsubscribe URL; null without a public URL
 * @see RFC 5322
 */
export function messageOf(
  reminder: Reminder,
  to: string,
  { settings, unsubscribeUrl, now }: { settings: EmailSettings; unsubscribeUrl: string | null; now: Instant },
): Promise<Buffer> {
  const { id, content } = reminder;
  const entry = calendarEntryOf(reminder, now);
  const composer = new MailComposer({
    from: { name: content.sender, address: settings.from },
    to: { name: '', address: to },
    ...(settings.replyTo === undefined ? {} : { replyTo: settings.replyTo }),
    subject: content.subject,
    messageId: `<${id}@${settings.from.slice(settings.from.lastIndexOf('@') + 1)}>`,
    date: new Date(now),
    text: textWithLink(content),
    html: htmlOf(reminder),
    headers: {
      // Prevents out-of-office answers (RFC 3834 section 5), which would copy health information into other mail threads.
      'Auto-Submitted': 'auto-generated',
      ...unsubscribeOf(settings, unsubscribeUrl),
    },
    attachments: entry === null ? [] : [entryAttachment(entry)],
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  return composer.compile().build();
}

function entryAttachment(content: string) {
  return { filename: 'appointment.ics', content, contentType: 'text/calendar; charset=utf-8' };
}

function unsubscribeOf(settings: EmailSettings, unsubscribeUrl: string | null): Unsubscribe | undefined {
  const byMail = settings.unsubscribe === undefined ? [] : [`<mailto:${settings.unsubscribe}?subject=unsubscribe>`];
  // Mail programs send one-click requests only to https (RFC 8058 section 3.1).
  if (unsubscribeUrl === null || !unsubscribeUrl.startsWith('https:')) {
    return byMail.length === 0 ? undefined : { 'List-Unsubscribe': byMail.join(', ') };
  }
  return {
    'List-Unsubscribe': [`<${unsubscribeUrl}>`, ...byMail].join(', '),
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  };
}

function htmlOf({ content }: Reminder): string {
  const paragraphs = content.text
    .split(/\n{2,}/)
    .map((paragraph) => `<p dir="auto">${escapeHtml(paragraph).replaceAll('\n', '<br>')}</p>`);
  const { link } = content;
  const label = escapeHtml(linkLabel(content) ?? '');
  const links = link === null ? [] : [`<p><a href="${escapeHtml(link.url)}" rel="noreferrer">${label}</a></p>`];
  return `<!doctype html><html lang="${content.language}"><head><meta charset="utf-8"><title>${escapeHtml(content.subject)}</title></head>
<body style="${STYLE}">
${[...paragraphs, ...links].join('\n')}
</body></html>`;
}

const PRODUCT = '-//clinic-mirror//reminders//EN';

/**
 * Returns the appointment as an iCalendar file for the patient's calendar, not an invitation, so without METHOD. Private, with a separate
 * id.
 * @param now time of writing (DTSTAMP)
 * @see RFC 5545
 */
function calendarEntryOf({ id, appointment, content }: Reminder, now: Instant): string | null {
  if (content.calendarEntry === null) return null;
  const { title, location } = content.calendarEntry;
  const calendar = new ICAL.Component('vcalendar');
  calendar.addPropertyWithValue('version', '2.0');
  calendar.addPropertyWithValue('prodid', PRODUCT);
  const event = new ICAL.Component('vevent');
  event.addPropertyWithValue('uid', `${id}@clinic-mirror`);
  event.addPropertyWithValue('dtstamp', utcTime(now));
  event.addPropertyWithValue('dtstart', utcTime(appointment.startAt));
  event.addPropertyWithValue('dtend', utcTime(appointment.endAt));
  event.addPropertyWithValue('summary', title);
  if (location !== null) event.addPropertyWithValue('location', location);
  event.addPropertyWithValue('class', 'PRIVATE');
  calendar.addSubcomponent(event);
  return foldLines(`${calendar.toString()}\r\n`);
}

function utcTime(at: Instant): ICAL.Time {
  return ICAL.Time.fromJSDate(new Date(at), true);
}
