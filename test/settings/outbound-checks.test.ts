import { expect, test } from 'vitest';
import { hostsIn } from '../../src/settings/outbound-checks.ts';
import { Secret } from '../../src/settings/secret-reference.ts';

test('the hosts of a configuration are in its URLs and server hosts, without its own ports and secrets', () => {
  const settings = {
    redis: { url: 'http://redis.example' },
    http: { host: '0.0.0.0', port: 8080, publicUrl: 'https://login.clinic.example' },
    notifications: { url: 'https://notify.clinic.example' },
    clinicClients: new Map([['main', { baseUrl: 'https://api.example/v1', authUrl: 'https://login.example:8443' }]]),
    alerts: {
      email: { host: 'mail.example', port: 587, from: 'a@b.example' },
      webhook: { url: new Secret('https://x.example') },
    },
    telemetry: { endpoint: 'http://[::1]:4318' },
    note: 'see https://nowhere.example in a sentence',
  };
  expect(hostsIn(settings)).toEqual([
    { host: 'api.example', at: 'clinicClients.main.baseUrl' },
    { host: 'login.example', at: 'clinicClients.main.authUrl' },
    { host: 'mail.example', at: 'alerts.email.host' },
    { host: '::1', at: 'telemetry.endpoint' },
  ]);
});
