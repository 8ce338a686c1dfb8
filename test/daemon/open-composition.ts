import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { type Composition, compose } from '../../src/daemon/compose.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { ENV, load, SETTINGS, writeConfiguration } from '../settings/configuration-directory.ts';

const PROFILE = readFileSync(join(import.meta.dirname, '../../config/profiles/documented.yaml'), 'utf8');

const TENANT = `
name: Studio Uno
language: it
zone: Europe/Rome
clinic: { client: main, tenantId: "7" }
connections:
  work: { kind: google, client: main }
  spare: { kind: google, client: main }
  dav: { kind: caldav, username: ada, password: { env: TENANT_UNO__SECRET } }
targets:
  rossi: { connector: google-calendar, connection: work, agendas: ["1"], settings: { calendar: { create: Agenda } } }
  verdi: { connector: caldav, connection: dav, agendas: ["2"], settings: { calendar: { url: "https://dav.example/a/" } } }
`;

/** Opens the composition of the tenant `uno`, without any connection, until the test ends. */
export function openComposition(redisUrl: string, more: { settings?: string; tenant?: string } = {}): Composition {
  const dir = writeConfiguration({
    'clinic-mirror.yaml': `${SETTINGS.replace('redis://127.0.0.1:6390', redisUrl)}${more.settings ?? ''}`,
    'profiles/plain.yaml': PROFILE,
    'tenants/uno.yaml': `${TENANT}${more.tenant ?? ''}`,
  });
  const configuration = load(dir, { connectors, reminderChannels, env: ENV });
  const composition = compose({ configuration, log: silentLogger, priority: 'background' });
  onTestFinished(() => composition.close());
  return composition;
}
