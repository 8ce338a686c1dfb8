import { type SmsSandbox, startSmsSandbox } from '../../../../sandbox/sms/index.ts';
import { sms } from '../../../../src/features/reminders/channels/sms/index.ts';
import type { ChannelBed } from './bed.ts';

/** A channel for text messages and the gateway before it. */
export async function openSmsBed(): Promise<ChannelBed & { gateway: SmsSandbox }> {
  const gateway = await startSmsSandbox();
  const { faults, recording } = gateway;
  recording.record(true);
  const once = (fault: Parameters<typeof faults.add>[0]['fault']) => () => void faults.add({ times: 1, fault });
  const settings = {
    accountSid: gateway.accountSid,
    authToken: { env: 'SMS_TOKEN' },
    from: gateway.from,
    maximumSegments: 5,
    server: gateway.url,
  };
  const invalid = { code: 21_211, message: "The 'To' number is not a valid phone number.", status: 400 };
  return {
    module: sms,
    gateway,
    settings,
    env: { SMS_TOKEN: gateway.authToken },
    wrongLogin: { settings, env: { SMS_TOKEN: 'f'.repeat(32) } },
    arrived: async () => gateway.messages().map(({ body }) => ({ id: null, text: body })),
    addresses: () => recording.recorded().map(({ url }) => url),
    spoil: {
      lostAnswer: once({ kind: 'lost-answer' }),
      refuseForGood: once({ kind: 'status', status: 400, body: invalid }),
      throttle: once({ kind: 'status', status: 429 }),
      throttleForSevenSeconds: once({ kind: 'status', status: 429, headers: { 'retry-after': '7' } }),
      cutBefore: once({ kind: 'cut' }),
      garbage: once({ kind: 'html' }),
      stall: once({ kind: 'latency', ms: 1_500 }),
      breakDown: once({ kind: 'status', status: 500 }),
    },
    close: () => gateway.close(),
  };
}
