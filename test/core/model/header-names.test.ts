import { describe, expect, test } from 'vitest';
import { HEADER_NAME, isTransportHeader } from '../../../src/core/model/header-names.ts';

describe('a configured header', () => {
  test.each([
    ...['Connection', 'keep-alive', 'Proxy-Authorization', 'TE', 'Trailer', 'Transfer-Encoding', 'Upgrade'],
    ...['Host', 'Content-Length', 'content-encoding', 'Expect', 'Cookie', 'X-Forwarded-For', 'Forwarded', 'Via'],
  ])('%s belongs to the transport', (name) => {
    expect(isTransportHeader(name)).toBe(true);
  });

  test.each(['Authorization', 'Accept', 'X-Api-Key', 'Prefer', 'If-Match', 'X-Tenant'])('%s does not', (name) => {
    expect(isTransportHeader(name)).toBe(false);
  });

  test.each(['', 'a b', 'a:b', 'a\r\nb', 'ä'])('is not named %j', (name) => {
    expect(HEADER_NAME.test(name)).toBe(false);
  });
});
