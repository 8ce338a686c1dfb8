import { describe, expect, test } from 'vitest';
import { ENV, faultLines, load, SETTINGS, writeConfiguration } from './configuration-directory.ts';

const URL_SECTION = '{ url: "redis://127.0.0.1:6390" }';
const SENTINELS = '[{ host: one, port: 26000 }, { host: two }]';
const HERE = '[{ host: localhost }]';

const withRedis = (section: string) =>
  writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace(URL_SECTION, section) });

function placeOf(section: string): unknown {
  return load(withRedis(section), { env: { ...ENV, REDIS_PASSWORD: 'shh-redis' } }).settings.redis.place.reveal();
}

describe('the location of Redis', () => {
  test('may be the URL of one server', () => {
    expect(placeOf(URL_SECTION)).toBe('redis://127.0.0.1:6390');
  });

  test('may be found by sentinels', () => {
    const passwords = 'password: { env: REDIS_PASSWORD }, sentinelPassword: { env: REDIS_PASSWORD }';
    const section = `{ sentinels: ${SENTINELS}, name: mirror, ${passwords}, tls: true }`;
    expect(placeOf(section)).toEqual({
      sentinels: [
        { host: 'one', port: 26_000 },
        { host: 'two', port: 26_379 },
      ],
      name: 'mirror',
      username: undefined,
      password: 'shh-redis',
      sentinelUsername: undefined,
      sentinelPassword: 'shh-redis',
      tls: true,
    });
  });

  test('may be a cluster', () => {
    expect(placeOf('{ cluster: [{ host: localhost }], username: mirror }')).toEqual({
      cluster: [{ host: 'localhost', port: 6_379 }],
      username: 'mirror',
      password: undefined,
      tls: false,
    });
  });

  test('is not shown with its password', () => {
    const { settings } = load(withRedis(URL_SECTION));
    expect(JSON.stringify(settings.redis)).toBe('{"place":"[secret]","replicas":null}');
  });

  test.each([
    ['{}', 'redis: the URL of Redis is missing → set url, sentinels or cluster'],
    [
      `{ url: "redis://127.0.0.1:6390", cluster: ${HERE} }`,
      'redis: url and cluster are both set → keep only one setting',
    ],
    [`{ sentinels: ${HERE} }`, 'redis.name: is missing → set the name under which the sentinels monitor the master'],
    ['{ cluster: [] }', 'redis.cluster: is not valid: a list → add at least one element'],
    [`{ cluster: ${HERE}, name: mirror }`, 'redis.name: has no effect with cluster → remove this setting'],
    [
      '{ url: "redis://127.0.0.1:6390", password: { env: CLIENT_SECRET } }',
      'redis.password: has no effect with url → move the value into the url',
    ],
    [`{ cluster: ${HERE}, password: plain }`, 'redis.password: is not valid: (not shown)'],
  ])('is refused as %s', (section, expected) => {
    const [line = '', ...others] = faultLines(withRedis(section));
    expect(line.replace(/^clinic-mirror\.yaml:\d+ /, '')).toContain(expected);
    expect(others).toEqual([]);
  });
});
