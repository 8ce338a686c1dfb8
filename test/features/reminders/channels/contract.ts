import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { waitFor } from '../../../support/wait-for.ts';
import {
  attempt,
  type ChannelBed,
  collectingLog,
  errorOf,
  openChannel,
  PATIENT,
  reminderOf,
  type Spoiling,
} from './bed.ts';

const AWKWARD = 'Ciao 👩‍⚕️ "Anna" & <b>l\'altra</b>\n\nשלום עולם · €uro {x} ^\n.\n..fine %0d%0aBcc: x@y.example';
/** Every failure that a bed may play. */
const ALL: readonly Spoiling[] = [
  'lostAnswer',
  'refuseForGood',
  'throttle',
  'throttleForSevenSeconds',
  'cutBefore',
  'garbage',
  'breakDown',
];

/** Faults of an attempt, and refused credentials. */
type Fault = Spoiling | 'wrongLogin';

/**
 * Describes the behaviour of every channel.
 * @param absent faults that the channel cannot have, with the reason; they have no test
 */
export function describeChannel(
  name: string,
  open: () => Promise<ChannelBed>,
  absent: Partial<Record<Fault, string>> = {},
) {
  describe(`the channel ${name}`, () => {
    let bed: ChannelBed;
    beforeEach(async () => {
      bed = await open();
    });
    afterEach(() => bed.close());

    handsOver(() => bed);
    failures(() => bed, absent);
    privacy(() => bed);

    test('is missing nothing that is not accounted for', () => {
      expect(ALL.filter((each) => bed.spoil[each] === undefined && absent[each] === undefined)).toEqual([]);
      expect(bed.wrongLogin === null).toBe('wrongLogin' in absent);
    });
  });
}

function handsOver(bed: () => ChannelBed): void {
  test('hands a reminder over once', async () => {
    const reminder = reminderOf();
    expect(await attempt(openChannel(bed()), reminder)).toMatchObject({ result: 'sent' });
    const arrived = await bed().arrived();
    expect(arrived).toHaveLength(1);
    expect(arrived[0]?.text).toContain(reminder.content.text);
  });

  test('delivers emoji, right-to-left text, quotes, markup and line ends unchanged', async () => {
    expect(await attempt(openChannel(bed()), reminderOf({ text: AWKWARD }))).toMatchObject({ result: 'sent' });
    expect((await bed().arrived())[0]?.text).toContain(AWKWARD);
  });

  test('keeps two reminders apart, and shows a repeated one as the same', async () => {
    const channel = openChannel(bed());
    const [one, other] = [reminderOf(), reminderOf()];
    for (const each of [one, other, one]) await attempt(channel, each);
    const ids = (await bed().arrived()).map(({ id }) => id);
    if (ids[0] === null) expect(bed().module.deduplicates).toBe(false);
    else expect(ids).toEqual([one.id, other.id, one.id]);
  });

  test('sends nothing to a patient without an address', async () => {
    const { needs } = bed().module;
    const delivery = await attempt(openChannel(bed()), reminderOf({}, { email: null, phone: null }));
    expect(delivery.result).toBe(needs === 'nothing' ? 'sent' : 'refused');
    expect(await bed().arrived()).toHaveLength(needs === 'nothing' ? 1 : 0);
  });

  test('refuses a setting that it does not know', () => {
    expect(() => openChannel(bed(), { settings: { ...bed().settings, unknownSetting: 1 } })).toThrow('unknownSetting');
  });
}

function failures(bed: () => ChannelBed, absent: Partial<Record<Fault, string>>): void {
  /** A fault that a channel cannot have is no test of the channel; `absent` states why. */
  const spoiled = (what: Fault, title: string, run: () => Promise<void>) => {
    if (absent[what] === undefined) test(title, run);
  };

  async function after(what: Spoiling) {
    bed().spoil[what]?.();
    return attempt(openChannel(bed()), reminderOf());
  }

  spoiled('lostAnswer', 'reports the outcome of a reminder as unknown after a lost answer', async () => {
    expect(await after('lostAnswer')).toMatchObject({ result: 'unknown' });
    expect(await bed().arrived()).toHaveLength(1);
  });

  spoiled('garbage', 'does not report a meaningless answer as a success', async () => {
    expect(await after('garbage')).toMatchObject({ result: 'unknown' });
  });

  spoiled('refuseForGood', 'reports a permanent refusal', async () => {
    expect(await after('refuseForGood')).toMatchObject({ result: 'refused' });
    expect(await bed().arrived()).toEqual([]);
  });

  spoiled('throttle', 'retries later if it is throttled, and succeeds then', async () => {
    const [channel, reminder] = [openChannel(bed()), reminderOf()];
    bed().spoil.throttle?.();
    expect(await attempt(channel, reminder)).toMatchObject({ result: 'later', retryAfterMs: null });
    expect(await attempt(channel, reminder)).toMatchObject({ result: 'sent' });
    expect(await bed().arrived()).toHaveLength(1);
  });

  spoiled('throttleForSevenSeconds', 'reports the length of the throttling', async () => {
    expect(await after('throttleForSevenSeconds')).toMatchObject({ result: 'later', retryAfterMs: 7_000 });
  });

  spoiled('breakDown', 'never reports a failed server as a success or a refusal', async () => {
    expect((await after('breakDown')).result).toMatch(/^(later|unknown)$/);
    expect(await bed().arrived()).toEqual([]);
  });

  spoiled('cutBefore', 'never reports a broken connection as a success or a refusal', async () => {
    expect((await after('cutBefore')).result).toMatch(/^(later|unknown)$/);
    expect(await bed().arrived()).toEqual([]);
  });

  spoiled('stall', 'reports the outcome of a reminder as unknown after a timeout', async () => {
    bed().spoil.stall?.();
    const timeout = new AbortController();
    const delivery = openChannel(bed()).send(reminderOf(), timeout.signal);
    await waitFor(() => bed().isSpoiled(), { what: 'the stalled attempt' });
    timeout.abort(new DOMException('The attempt took too long', 'TimeoutError'));
    expect(await delivery).toMatchObject({ result: 'unknown' });
  });

  spoiled('cutBefore', 'sends nothing to an unreachable server, with a certain outcome', async () => {
    const channel = openChannel(bed());
    await bed().close();
    expect(await attempt(channel, reminderOf())).toMatchObject({ result: 'later', code: 'connection-failed' });
  });

  spoiled(
    'wrongLogin',
    'throws when the credentials are refused, without showing them, and sends nothing',
    async () => {
      const wrong = bed().wrongLogin!;
      const error = await errorOf(attempt(openChannel(bed(), wrong), reminderOf()));
      expect(error).toMatchObject({ name: 'MirrorError', actor: 'settings', retry: 'later', ambiguous: false });
      for (const secret of Object.values(wrong.env)) expect(error.message).not.toContain(secret);
      expect(await bed().arrived()).toEqual([]);
    },
  );

  test('is stopped at once', async () => {
    const channel = openChannel(bed());
    expect(await channel.send(reminderOf(), AbortSignal.abort())).toMatchObject({
      result: expect.stringMatching(/^(later|unknown)$/),
    });
    expect(await bed().arrived()).toEqual([]);
  });
}

function privacy(bed: () => ChannelBed): void {
  test('shows no patient data and no secret in logs, errors and URLs, whatever happens', async () => {
    const { log, lines } = collectingLog();
    const said: string[] = [];
    const channel = openChannel(bed(), { log });
    for (const what of [null, ...ALL]) {
      if (what !== null) bed().spoil[what]?.();
      const outcome = await attempt(channel, reminderOf()).catch((error: Error) => [error.message, error.stack]);
      said.push(JSON.stringify(outcome));
    }
    const shown = [...lines, ...said, ...bed().addresses()].join('\n');
    const secrets = Object.values(bed().env);
    for (const hidden of [...Object.values(PATIENT), 'Quattrocchi', 'domani', 'pat-77', ...secrets]) {
      expect(shown).not.toContain(hidden);
    }
  });
}
