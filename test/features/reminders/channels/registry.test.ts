import { describe, expect, test } from 'vitest';
import { dry } from '../../../../src/features/reminders/channels/dry/index.ts';
import { reminderChannels } from '../../../../src/features/reminders/channels/registry.ts';
import {
  attempt,
  collectingLog,
  openChannel,
  openEmailBed,
  openSmsBed,
  openWebhookBed,
  PATIENT,
  reminderOf,
} from './bed.ts';
import { describeChannel } from './contract.ts';

describeChannel('webhook', openWebhookBed, {
  garbage: 'only the status of an answer is read',
  wrongLogin: 'a webhook has no credentials',
});

describeChannel('email', openEmailBed, { throttleForSevenSeconds: 'SMTP has no word for how long' });

describeChannel('sms', openSmsBed);

describe('the channel dry', () => {
  test('logs id, time and length of the message, and no patient data', async () => {
    const { log, lines } = collectingLog();
    const reminder = reminderOf({ text: `${'x'.repeat(155)} ${PATIENT.name}` });
    const channel = openChannel({ module: dry, settings: {}, env: {} }, { log });
    expect(await attempt(channel, reminder)).toEqual({ result: 'sent', reference: null });
    expect(lines).toEqual([
      `dry run: reminder would be sent ${JSON.stringify({
        reminder: reminder.id,
        rule: 'day-before',
        appointment: 'apt-1',
        agenda: 'agenda-2',
        startAt: '2026-12-01T09:30:00.000Z',
        language: 'it',
        characters: 175,
        textMessages: 2,
      })}`,
    ]);
  });
});

test('every channel is registered under its own kind', () => {
  expect([...reminderChannels.keys()]).toEqual(['dry', 'email', 'sms', 'webhook']);
});
