import { z } from 'zod';
import type { ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { segmentsOf, textWithLink } from '../channel.ts';

const drySchema = z.strictObject({});

/** Settings of a trial: empty. */
export type DrySettings = z.output<typeof drySchema>;

/** A trial that only logs ids, times and lengths. No message is sent. */
export const dry: ChannelModule<DrySettings> = {
  kind: 'dry',
  purpose: null,
  needs: 'nothing',
  deduplicates: true,
  settingsSchema: () => drySchema,
  open: (context) => ({ send: async (reminder) => write(context, reminder) }),
};

function write({ log }: ChannelContext<DrySettings>, { id, rule, appointment, content }: Reminder): Delivery {
  const text = textWithLink(content);
  log.info(
    {
      reminder: id,
      rule,
      appointment: appointment.id,
      agenda: appointment.agendaId,
      startAt: new Date(appointment.startAt).toISOString(),
      language: content.language,
      characters: text.length,
      textMessages: segmentsOf(text).count,
    },
    'dry run: reminder would be sent',
  );
  return { result: 'sent', reference: null };
}
