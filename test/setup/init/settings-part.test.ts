import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { answersOf } from '../../../src/setup/init/asker.ts';
import { checkSettings, makeSettings, registrationsOf } from '../../../src/setup/init/settings-part.ts';
import { readExisting } from '../../../src/setup/init/written-files.ts';
import { asker, filesOf, newFolder, SETTINGS, serversThatRefuse, textOf } from './answers.ts';

describe('the settings', () => {
  const profileOf = async (document: string) => `# of ${document}\n`;
  const make = (dir: string, answers: object, { tests } = serversThatRefuse()) =>
    makeSettings(dir, asker(answers), { tests, profileOf });

  test('contain new keys, the registrations of the chosen vendors, and each secret in a file', async () => {
    const dir = newFolder();
    const registrations = await make(dir, SETTINGS);
    const text = textOf(dir, 'clinic-mirror.yaml');
    expect(registrations).toEqual({ clinic: 'main', google: 'main', microsoft: 'main' });
    expect(text).not.toContain('canary');
    expect(textOf(dir, 'keys/google-secret')).toBe('google-canary\n');
    expect(parse(text)).toMatchObject({
      http: { loginPort: 8765 },
      clinicClients: { main: { profile: 'documented', clientId: 'mirror' } },
      googleClients: { main: { clientId: 'g', clientSecret: { file: 'keys/google-secret' } } },
      microsoftClients: { main: { clientId: 'm' } },
    });
    const keys = ['keys/identity-key', 'keys/sealing-key-1'].map((name) => textOf(dir, name));
    expect(keys.map((key) => Buffer.from(key, 'base64').length)).toEqual([32, 32]);
    expect(keys[0]).not.toBe(keys[1]);
  });

  /** Answers with a secret for each registration. */
  const ALL = {
    ...SETTINGS,
    redisUrl: 'redis://answered.example',
    clinic: { ...SETTINGS.clinic, clientSecret: 'clinic-answer' },
    microsoft: { clientId: 'm', clientSecret: 'microsoft-answer' },
  };
  const SECRETS = [
    ['keys/redis-url', 'redis://answered.example'],
    ['keys/clinic-secret', 'clinic-answer'],
    ['keys/google-secret', 'google-canary'],
    ['keys/microsoft-secret', 'microsoft-answer'],
  ] as const;

  test.each(SECRETS)(
    'without a working %s are not written, and the secret is not written either',
    async (file, value) => {
      const dir = newFolder();
      const failure = await make(dir, ALL, serversThatRefuse(value)).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: 'value-refused', remedy: expect.stringContaining(join(dir, file)) });
      expect(String((failure as MirrorError).message)).not.toContain(value);
      expect(textOf(dir, file)).toBe('');
      expect(existsSync(join(dir, 'clinic-mirror.yaml'))).toBe(false);
      await make(dir, ALL);
      expect(textOf(dir, file)).toBe(`${value}\n`);
    },
  );

  test.each(SECRETS)('have a refused %s replaced by a rerun, and no other file changes', async (file, value) => {
    const dir = newFolder();
    await make(dir, ALL);
    const before = filesOf(dir);
    const corrected = JSON.parse(JSON.stringify(ALL).replace(value, `${value}2`));
    const settings = readExisting(dir, 'clinic-mirror.yaml');
    if (settings === null) return expect.fail('there are settings');
    const told: string[] = [];
    const answers = answersOf(JSON.stringify(corrected), {}, (text) => told.push(text));
    const { tests, asked } = serversThatRefuse(value);
    const registrations = registrationsOf(settings);
    if (registrations === null) return expect.fail('there are registrations');
    await checkSettings(settings, registrations, answers, { dir, tests });
    expect(filesOf(dir)).toEqual({ ...before, [file]: `${value}2\n` });
    expect(told.join('\n')).toContain(`${join(dir, file)} is replaced.`);
    expect(asked).toHaveLength(SECRETS.length + 1);
    expect(told.join('\n')).not.toContain(value);
  });

  test('keep each working value, regardless of the new answers', async () => {
    const dir = newFolder();
    await make(dir, ALL);
    const before = filesOf(dir);
    rmSync(join(dir, 'clinic-mirror.yaml'));
    await make(dir, JSON.parse(JSON.stringify(ALL).replaceAll('answer', 'other')));
    expect(filesOf(dir)).toEqual(before);
  });

  test('name the profile that matches a document', async () => {
    const answers = { ...SETTINGS, clinic: { ...SETTINGS.clinic, document: 'api.json' } };
    const dir = newFolder();
    await make(dir, answers);
    expect(textOf(dir, 'profiles/clinic.yaml')).toBe('# of api.json\n');
    expect(parse(textOf(dir, 'clinic-mirror.yaml'))).toMatchObject({
      clinicClients: { main: { profile: 'clinic' } },
    });
  });

  test.each([
    [{ redisUrl: 'http://127.0.0.1' }, 'answer-refused', 'redis:'],
    [{ clinic: { ...SETTINGS.clinic, clientId: undefined } }, 'answer-missing', 'clinic.clientId'],
    [{ calendarKinds: ['ical'] }, 'answer-refused', 'caldav'],
    [{ calendarKinds: [] }, 'answer-refused', 'write calendarKinds: ['],
  ])('refuse %j, and show the correct form', async (changed, code, says) => {
    const failure = await make(newFolder(), { ...SETTINGS, ...changed }).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(MirrorError);
    const { remedy = '', message } = failure as MirrorError;
    expect(failure).toMatchObject({ actor: 'settings', code });
    expect(`${message} ${remedy}`).toContain(says);
  });
});
