import { webhook } from '../../../../src/features/reminders/channels/webhook/index.ts';
import type { ChannelBed } from './bed.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** A secret as receivers are given it: whsec_ and 32 bytes in base64. */
export function signingSecret(letter: string): string {
  return `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
}

/** A webhook channel and the receiver before it. */
export async function openWebhookBed(): Promise<ChannelBed & { receiver: Receiver }> {
  const receiver = await startReceiver();
  const { faults, recording } = receiver.kit;
  const once = (fault: Parameters<typeof faults.add>[0]['fault']) => () => void faults.add({ times: 1, fault });
  return {
    module: webhook,
    receiver,
    settings: {
      url: `${receiver.url}/hook`,
      secrets: [{ env: 'WEBHOOK_SECRET' }],
      fields: ['text'],
    },
    env: { WEBHOOK_SECRET: signingSecret('a') },
    wrongLogin: null,
    arrived: async () =>
      receiver.taken.map(({ headers, body }) => ({
        id: String(headers['webhook-id']),
        text: String((JSON.parse(body) as { data: { text?: unknown } }).data.text),
      })),
    addresses: () => recording.recorded().map(({ url }) => url),
    spoil: {
      lostAnswer: once({ kind: 'lost-answer' }),
      refuseForGood: once({ kind: 'status', status: 410 }),
      throttle: once({ kind: 'status', status: 429 }),
      throttleForSevenSeconds: once({ kind: 'status', status: 503, headers: { 'retry-after': '7' } }),
      cutBefore: once({ kind: 'cut' }),
      stall: once({ kind: 'latency', ms: 1_500 }),
      breakDown: once({ kind: 'status', status: 500 }),
    },
    close: () => receiver.close(),
  };
}
