import type { Instant } from '../../../../model/time.ts';
import type { Reminder } from '../channel.ts';
import type { PayloadField } from './schemas.ts';

const REMINDER_EVENT = 'appointment.reminder.due';
const CORRECTION_EVENT = 'appointment.reminder.corrected';

const READ_FIELD: Readonly<Record<PayloadField, (reminder: Reminder) => string | null>> = {
  startAt: ({ appointment }) => new Date(appointment.startAt).toISOString(),
  endAt: ({ appointment }) => new Date(appointment.endAt).toISOString(),
  zone: ({ appointment }) => appointment.zone,
  language: ({ content }) => content.language,
  sender: ({ content }) => content.sender,
  subject: ({ content }) => content.subject,
  text: ({ content }) => content.text,
  email: ({ recipient }) => recipient.email,
  phone: ({ recipient }) => recipient.phone,
  link: ({ content }) => content.link?.url ?? null,
};

/**
 * The body of one try (Standard Webhooks 1.0, "Payload structure"): ids, and what the settings allow beside them.
 * @param now the event's time: when it is handed over
 */
export function payloadOf(reminder: Reminder, fields: readonly PayloadField[], now: Instant): string {
  const { id, tenant, rule, appointment, recipient, correction = null } = reminder;
  const allowed = fields.map((field) => [field, READ_FIELD[field](reminder)] as const);
  return JSON.stringify({
    type: correction === null ? REMINDER_EVENT : CORRECTION_EVENT,
    timestamp: new Date(now).toISOString(),
    data: {
      reminderId: id,
      tenant,
      rule,
      appointmentId: appointment.id,
      agendaId: appointment.agendaId,
      patientId: recipient.patientId,
      ...(correction !== null && { correction }),
      ...Object.fromEntries(allowed),
    },
  });
}
