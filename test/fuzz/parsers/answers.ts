import { gzipSync } from 'node:zlib';
import { readJwt, sharedSigningKey, signJwt, toJwks } from '../../../sandbox/kit/oauth/jwt.ts';
import { errorFromAnswer } from '../../../src/clinic/http/errors.ts';
import { anySign, usualSign } from '../../../src/clinic/http/more-rows.ts';
import { cachedStretches, pageOf } from '../../../src/clinic/read/list-page.ts';
import { isFromCache, pagingHeadersOf, usableEtag } from '../../../src/clinic/read/reading-memory.ts';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { parseBatch } from '../../../src/connectors/google-calendar/client.ts';
import { readJson } from '../../../src/core/http/answer.ts';
import { retryAfterMs } from '../../../src/core/http/retry.ts';
import { unpacked } from '../../../src/core/http/transport.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { MOST_VALUES, parseJson } from '../../../src/core/model/json.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';
import { nextLink, parseLinks } from '../../../src/described-api/links.ts';
import { accountOfClaims, accountOfHub, accountOfNames, unvalidatedClaims } from '../../../src/oauth/accounts.ts';
import { validateIdToken } from '../../../src/oauth/ask-account.ts';
import { oauthErrorCode } from '../../../src/oauth/errors.ts';
import type { Reach } from '../../../src/oauth/token-requests.ts';
import { readNames, refreshLifeMs, tidyAnswer } from '../../../src/oauth/token-requests.ts';
import { mayHoldMisread } from '../../support/misread-names.ts';
import type { Parser } from '../parser.ts';

const NOW = Date.UTC(2026, 5, 1);
const PROFILE = clinicProfileSchema.parse({});

export const JSON_WORDS = ['"a"', ':', ',', '[]', '{}', '[', ']', '{', '}', '"', '\\u0000', '\\', '1e400', 'null', ' '];
export const JSON_PAIRS = [
  ['[', ']'],
  ['{"a":', '}'],
  ['[{"a":[', ']}]'],
] as const;

/** All of an answer's headers together (Node, `--max-http-header-size`). */
const LONGEST_HEADER_BYTES = 16 * 1024;

/** Headers from a server: the first line that `Headers` accepts, or none. */
function headersWith(names: readonly string[], input: Buffer): Headers {
  const value = input
    .subarray(0, LONGEST_HEADER_BYTES)
    .toString('latin1')
    .replaceAll(/[\0\r\n]/g, ' ');
  return new Headers(names.map((name) => [name, value]));
}

const answer = (body: Buffer, headers: Record<string, string> = {}) => ({ headers: new Headers(headers), body });

const json: Parser = {
  name: 'json',
  seeds: [
    '{"data":[{"id":1,"name":"Bianchi","tags":["a","b"]}],"total":1}',
    '\uFEFF[1,2.5,-3e2,"\\u00e8",true,null]',
    '[]',
  ],
  words: JSON_WORDS,
  pairs: JSON_PAIRS,
  longestBytes: PROFILE.limits.maxAnswerBytes,
  read(input) {
    readJson(answer(input), 'fuzz');
  },
};

/** Rows split by their bytes must equal the rows of the JSON parser. */
const pages: Parser = {
  name: 'pages',
  seeds: [
    '{"data":[{"id":1,"name":"Bianchi"},{"id":"b\\"]","tags":["a",{}]}],"total":2}',
    '{"total":1, "items" : [ {"id":1} , {"id":2} ]}',
    '[{"id":1},{"id":2}]',
  ],
  words: [...JSON_WORDS, '"data"', '"items"', '{"id":1}', '},{'],
  pairs: JSON_PAIRS,
  read(input) {
    const isEmpty = () => false;
    const form = { label: 'fuzz', list: 'appointments', path: null, mostValues: MOST_VALUES, isEmpty } as const;
    const made = [NO_STRETCHES, null].map((known) => {
      try {
        const { body, rows } = atOnce(pageOf(answer(input), { ...form, map: (row) => row, idOf: () => null }, known));
        return { body, rows };
      } catch (error) {
        if (error instanceof MirrorError) return { error };
        throw error;
      }
    });
    const [cut, whole] = made.map((one) => JSON.stringify('error' in one ? one.error.code : one));
    if (cut !== whole && !mayHoldMisread(input.toString())) throw new Error('a page that was cut is another one');
    for (const one of made) if ('error' in one) throw one.error;
  },
};

const NO_STRETCHES = cachedStretches<unknown>([]);

const clinicErrors: Parser = {
  name: 'clinic-errors',
  seeds: [
    '{"error":"missing_claim","message":"scope is missing","details":[{"field":"start","message":"is required"}]}',
    '{"code":"invalid","errors":{"start":["is required"],"end":"is before start"}}',
    '<html>gateway</html>',
  ],
  words: [...JSON_WORDS, '"error"', '"message"', '"details"', '"errors"', '"field"', 'missing_claim'],
  pairs: JSON_PAIRS,
  read(input) {
    for (const status of [400, 401, 403, 404, 409, 429, 500]) {
      const headers = { 'www-authenticate': 'Bearer scope="a"' };
      const place = { profile: PROFILE, profileFile: 'profiles/a.yaml' };
      const error = errorFromAnswer({ status, retryAfterMs: null, ...answer(input, headers) }, 'fuzz', place, true);
      if (error.vendorMessages().join('').length > 100_000) throw new Error('an error carries all of an answer');
    }
  },
};

const headers: Parser = {
  name: 'headers',
  seeds: [
    '<https://clinic.example/a?page=2>; rel="next", </b>; rel=prev; title="x, \\"y\\""',
    '120',
    'Fri, 31 Dec 1999 23:59:59 GMT',
    'W/"a-1"',
    'max-age=0, public; stale=1',
  ],
  words: ['<', '>', '; ', 'rel="next"', ',', '"', '\\', '=', 'GMT', '1', 'anchor=', ' '],
  pairs: [
    ['<', '>'],
    ['"', '"'],
  ],
  read(input) {
    const told = headersWith(
      ['link', 'date', 'retry-after', 'ratelimit', 'x-ratelimit-reset', 'etag', 'vary', 'age', 'x-total'],
      input,
    );
    parseLinks(told.get('link'));
    nextLink(told.get('link'));
    const wait = retryAfterMs({ status: 429, headers: told }, NOW);
    if (wait !== null && !(wait > 0 && wait <= 86_400_000)) throw new Error('a wait of more than a day');
    usableEtag(told);
    isFromCache(told);
    const answer = { body: [], headers: pagingHeadersOf(told, []) };
    usualSign(answer, 3);
    anySign(answer, { rows: 3, pages: null }, []);
    anySign(answer, { rows: 3, pages: 2 }, []);
  },
};

const ID_TOKEN = `e30.${Buffer.from('{"sub":"1","aud":"us","email":"a@b.example","email_verified":true}').toString('base64url')}.x`;

const tokens: Parser = {
  name: 'oauth-answers',
  seeds: [
    `{"access_token":"a","token_type":"Bearer","expires_in":"3600","refresh_token":"r","scope":["a","b"],"id_token":"${ID_TOKEN}"}`,
    '{"status":"BAD_REFRESH_TOKEN","message":"expired","hub_id":12,"user":"a@b.example"}',
    '{"error":"invalid_grant","error_description":"revoked","interval":null,"id":"https://login.example/id/00D/005"}',
  ],
  words: [...JSON_WORDS, '"expires_in"', '"refresh_token"', '"scope"', '"id_token"', '"error"', 'bearer', '.', 'e30'],
  pairs: JSON_PAIRS,
  async read(input) {
    const tidy = await tidyAnswer(
      new Response(new Uint8Array(input), { headers: { 'content-type': 'application/json' } }),
    );
    const members: unknown = await tidy.json().catch(() => null);
    if (typeof members !== 'object' || members === null || Array.isArray(members)) return;
    const told = members as Record<string, unknown>;
    refreshLifeMs(told);
    oauthErrorCode(told);
    const names = readNames(told);
    for (const name of ['google', 'microsoft', 'salesforce', 'hubspot', 'oauth'] as const) {
      accountOfNames({ name, clientId: 'us' } as never, names);
      accountOfClaims({ name } as never, told);
    }
    accountOfHub(told);
  },
};

const KEY = sharedSigningKey();
const ISSUER = 'https://login.example';
const CLAIMS = { iss: ISSUER, aud: 'us', sub: '1', email: 'a@b.example', email_verified: true, iat: 1, exp: 4e9 };
const REACH = {
  provider: { name: 'google', issuer: ISSUER, clientId: 'us' },
  http: { asFetch: () => async () => Response.json(toJwks(KEY)) },
  clock: Date.now,
} as unknown as Reach;
const METADATA = { issuer: ISSUER, token_endpoint: `${ISSUER}/token`, jwks_uri: `${ISSUER}/keys` };
const UNASKED = { nonce: null, skewMs: 0 };
const NEVER_ENDED = new AbortController().signal;

/** Raw tokens, and claims signed by the provider. Only a token with the provider's signature may identify a user. */
const idTokens: Parser = {
  name: 'id-tokens',
  seeds: [
    signJwt(CLAIMS, KEY),
    ID_TOKEN,
    JSON.stringify(CLAIMS),
    JSON.stringify({ ...CLAIMS, aud: ['us', 'b'], azp: 'us' }),
  ],
  words: [...JSON_WORDS, '.', 'e30', 'eyJhbGciOiJub25lIn0', '"iss"', '"aud"', '"exp"', '"crit"', '"tid"', '='],
  pairs: JSON_PAIRS,
  async read(input) {
    const text = input.toString();
    unvalidatedClaims(text);
    const told = parseJson(text);
    const isClaims = typeof told === 'object' && told !== null && !Array.isArray(told);
    const token = isClaims ? signJwt(told, KEY) : text;
    const claims = await validateIdToken({ reach: REACH, metadata: METADATA, signal: NEVER_ENDED }, token, UNASKED);
    if (readJwt(token)?.isSignedBy(KEY.publicKey) !== true)
      throw new Error('a token without a valid signature was accepted');
    for (const name of ['google', 'microsoft', 'oauth'] as const) accountOfClaims({ name } as never, claims);
  },
};

const BATCH = [
  '--b',
  'Content-Type: application/http',
  'Content-ID: <response-0>',
  '',
  'HTTP/1.1 200 OK',
  'Retry-After: 3',
  '',
  '{"id":"a"}',
  '--b--',
  '',
].join('\r\n');

const multipart: Parser = {
  name: 'multipart',
  seeds: [BATCH, BATCH.replaceAll('\r\n', '\n'), `${BATCH.slice(0, -6)}${BATCH}`],
  words: ['--b', '--b--', '\r\n\r\n', 'Content-ID: <response-1>', 'HTTP/1.1 ', ':', '{', '}', ' ', '\n'],
  pairs: [
    ['--b\r\n', '--b--'],
    ['[', ']'],
  ],
  read(input) {
    atOnce(parseBatch('multipart/mixed; boundary=b', input, NOW));
    atOnce(parseBatch(headersWith(['content-type'], input).get('content-type'), Buffer.from(BATCH), NOW));
  },
};

const MOST_UNPACKED_BYTES = 2 ** 20;

const packed: Parser = {
  name: 'packed-bodies',
  seeds: [gzipSync('{"a":1}').toString('latin1'), gzipSync(Buffer.alloc(100_000)).toString('latin1')],
  words: ['\u001f\u008b\u0008'],
  pairs: [],
  async read(input) {
    async function* bounded(stream: AsyncIterable<Uint8Array>) {
      let size = 0;
      for await (const chunk of stream) {
        size += chunk.length;
        if (size > MOST_UNPACKED_BYTES) return;
        yield chunk;
      }
    }
    async function* body() {
      yield input;
    }
    for (const coding of ['gzip', 'deflate', 'br', 'gzip, gzip']) {
      try {
        for await (const chunk of unpacked(body(), coding, bounded)) void chunk;
      } catch (error) {
        // node:zlib's errors for truncated or damaged data; the transport maps them to `connection-failed`.
        if (!/^(Z_|ERR_|unexpected)/.test(String((error as { code?: unknown }).code))) throw error;
      }
    }
  },
};

export const ANSWERS: readonly Parser[] = [json, pages, clinicErrors, headers, tokens, idTokens, multipart, packed];
