import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { answersOf } from '../../../src/setup/init/asker.ts';

const AGENDAS = [
  { id: '12', name: 'Dott.ssa Àgnes Bianchi', locationId: 'l1', isActive: true },
  { id: '14', name: 'Room', locationId: null, isActive: true },
];
export const PLACES = { agendas: AGENDAS, locations: [{ id: 'l1', name: 'Via Roma', address: null, zone: null }] };
export const REGISTRATIONS = { clinic: 'main', google: 'main', microsoft: 'main' };
export const SETTINGS = {
  clinic: { baseUrl: 'https://api.clinic.example', authUrl: 'https://login.clinic.example', clientId: 'mirror' },
  calendarKinds: ['google', 'microsoft'],
  google: { clientId: 'g', clientSecret: 'google-canary' },
  microsoft: { clientId: 'm' },
  loginPort: 8765,
};

export function asker(answers: object, env: Record<string, string> = {}) {
  return answersOf(JSON.stringify(answers), env, () => {});
}

export function newFolder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'clinic-mirror-init-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

export function textOf(dir: string, file: string): string {
  const path = join(dir, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

/** Servers that accept every value but the ones that are wrong, and note what they were asked. */
export function serversThatRefuse(...wrong: (string | null)[]) {
  const asked: (string | null)[] = [];
  const judge = async (value: string | null) => {
    asked.push(value);
    if (!wrong.includes(value)) return;
    throw new MirrorError('no', { actor: 'settings', code: 'client-rejected', retry: 'never' });
  };
  return {
    asked,
    tests: {
      redis: judge,
      client: ({ clientSecret }: { clientSecret: string | null }) => judge(clientSecret),
      caldav: ({ password }: { password: string }) => judge(password),
    },
  };
}

/** Every file below a folder, with its text. */
export function filesOf(dir: string): Record<string, string> {
  const names = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return Object.fromEntries(
    names.map(({ parentPath, name }) => [
      join(parentPath, name).slice(dir.length + 1),
      readFileSync(join(parentPath, name), 'utf8'),
    ]),
  );
}
