import { z } from 'zod';
import { issueText, type Message, message, withRemedy } from '../messages/message.ts';
import { AT_LEAST_ONE, text, wholeNumber } from './common-schemas.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { Secret } from './secret-reference.ts';

/** Credentials for individually listed servers. */
interface ListedServers {
  username: string | undefined;
  password: string | undefined;
  tls: boolean;
}

/** A master and its replicas, found through sentinels. */
export interface SentinelLocation extends ListedServers {
  sentinels: readonly ServerAddress[];
  /** Name of the master in the sentinels. */
  name: string;
  sentinelUsername: string | undefined;
  sentinelPassword: string | undefined;
}

/** A Redis Cluster, discovered through any of these servers. */
export interface ClusterLocation extends ListedServers {
  cluster: readonly ServerAddress[];
}

/** Redis location: a server URL, or the way to find the server. */
export type RedisLocation = string | SentinelLocation | ClusterLocation;

const WAYS = ['url', 'sentinels', 'cluster'] as const;
/** Keys that require one of these ways. */
const KEYS_OF_WAYS = {
  name: ['sentinels'],
  sentinelUsername: ['sentinels'],
  sentinelPassword: ['sentinels'],
  username: ['sentinels', 'cluster'],
  password: ['sentinels', 'cluster'],
  tls: ['sentinels', 'cluster'],
} as const satisfies Record<string, readonly (typeof WAYS)[number][]>;

/** @param defaultPort port if not given */
function addresses(defaultPort: number) {
  const address = z.strictObject({
    host: text.meta({ description: 'Host name or IP address.', examples: ['redis-1.example.org'] }),
    port: wholeNumber(1, 65_535).default(defaultPort).describe('TCP port.'),
  });
  return z.array(address).min(1, AT_LEAST_ONE);
}

/** Host and port of a server. */
export type ServerAddress = z.infer<ReturnType<typeof addresses>>[number];

/** Schema of `redis`: exactly one way to find the server, and the number of replicas that must confirm a decision. */
export function redisSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      url: secrets.plainOrReference
        .refine((url) => isAddress(url.reveal()), issueText(message('redis.url')))
        .optional()
        .meta({
          description:
            "URL of a single Redis server, or the path of the server's Unix socket. Use `rediss://` for a server on another host, and a reference if the URL contains a password. One of `url`, `sentinels` and `cluster` is required. Example: `rediss://redis.example.org:6379`.",
        }),
      sentinels: addresses(26_379)
        .optional()
        .describe('Sentinels that know the current master. `redis.name` is then required.'),
      name: text.optional().meta({
        description: "Name of the master in the sentinels' configuration. Required with `sentinels`.",
        examples: ['mymaster'],
      }),
      cluster: addresses(6_379)
        .optional()
        .describe('Some servers of a Redis Cluster. clinic-mirror discovers the other servers.'),
      username: text
        .optional()
        .describe('Redis user for `sentinels` or `cluster`. With `redis.url`, write the user into the URL.'),
      password: secrets.text.optional().describe('Redis password for `sentinels` or `cluster`.'),
      sentinelUsername: text.optional().describe('User of the sentinels.'),
      sentinelPassword: secrets.text.optional().describe('Password of the sentinels.'),
      tls: z
        .boolean()
        .optional()
        .describe('Uses TLS for servers and sentinels. With `redis.url`, write `rediss://` instead.'),
      plaintext: z
        .enum(['private-network'])
        .optional()
        .describe(
          'Allows connections without TLS to other hosts. Use only in an isolated network, such as a Compose network. A password is still required.',
        ),
      replicas: wholeNumber(0, 10)
        .optional()
        .describe(
          'Number of replicas that must confirm a decision before the daemon sends a message. Default: 1 if any replica is connected.',
        ),
    })
    .superRefine((redis, context) => {
      const present = WAYS.filter((way) => redis[way] !== undefined);
      const refuse = (path: string[], fault: Message, remedy: Message) =>
        context.addIssue({ code: 'custom', path, message: issueText(remedy), params: { fault } });
      const [way] = present;
      if (way === undefined) return refuse([], ...withRemedy('redis.no-address'));
      const [, second] = present;
      if (second !== undefined) return refuse([], ...withRemedy('redis.several', { first: way, second }));
      if (way === 'sentinels' && redis.name === undefined) {
        refuse(['name'], message('settings.missing'), message('redis.name.remedy'));
      }
      for (const [key, ways] of Object.entries(KEYS_OF_WAYS)) {
        if (redis[key as keyof typeof KEYS_OF_WAYS] === undefined || ways.some((one) => one === way)) continue;
        const remedy = message(way === 'url' ? 'redis.in-url.remedy' : 'settings.leave-out');
        refuse([key], message('redis.without-effect', { way }), remedy);
      }
      const { url, sentinels = [], cluster = [], password, sentinelPassword, tls = false, plaintext } = redis;
      const had = { hasPassword: password !== undefined, hasSentinelPassword: sentinelPassword !== undefined };
      const ways = { url: url?.reveal(), sentinels, cluster, ...had, tls };
      for (const { key, fault, remedy } of unprotected({ ...ways, isPrivateNetwork: plaintext !== undefined })) {
        refuse([key], fault, remedy);
      }
    })
    .transform(({ replicas, plaintext: _, ...found }) => ({
      place: new Secret(locationOf(found), (found.url ?? found.password)?.readFrom),
      replicas: replicas ?? null,
    }));
}

function isAddress(url: string): boolean {
  return /^rediss?:\/\/\S+$/.test(url) || (isSocket(url) && !/\s/.test(url));
}

interface Found {
  url?: Secret | undefined;
  sentinels?: ServerAddress[] | undefined;
  name?: string | undefined;
  cluster?: ServerAddress[] | undefined;
  username?: string | undefined;
  password?: Secret | undefined;
  sentinelUsername?: string | undefined;
  sentinelPassword?: Secret | undefined;
  tls?: boolean | undefined;
}

function locationOf({ url, sentinels, name = '', cluster = [], tls = false, ...found }: Found): RedisLocation {
  if (url !== undefined) return url.reveal();
  const { username, sentinelUsername } = found;
  const servers = { username, password: found.password?.reveal(), tls };
  if (sentinels === undefined) return { ...servers, cluster };
  return { ...servers, sentinels, name, sentinelUsername, sentinelPassword: found.sentinelPassword?.reveal() };
}

/** Relevant part of a server location. */
interface Server {
  host: string;
}

/** Redis access in the settings; `url` in clear, otherwise only whether a value exists. */
export interface RedisWays {
  url: string | undefined;
  sentinels: readonly Server[];
  cluster: readonly Server[];
  hasPassword: boolean;
  hasSentinelPassword: boolean;
  tls: boolean;
  /** The operator confirms that the network to Redis is private. */
  isPrivateNetwork: boolean;
}

/** A missing protection of a remote server: its key, fault and remedy. */
export interface Unprotected {
  key: 'url' | 'password' | 'sentinelPassword' | 'tls';
  fault: Message;
  remedy: Message;
}

const BARE = message('redis.unprotected');

/**
 * Lists missing protections of the state: a remote Redis requires a password, and TLS unless the operator declares the network private.
 * Directory permissions protect a Unix socket.
 */
export function unprotected(ways: RedisWays): Unprotected[] {
  if (ways.url !== undefined) return unprotectedUrl(ways.url, ways.isPrivateNetwork);
  const isElsewhere = ({ host }: Server) => !isThisMachine(host);
  const sentinels = ways.sentinels.some(isElsewhere);
  if (!sentinels && !ways.cluster.some(isElsewhere)) return [];
  const found: Unprotected[] = [];
  if (!ways.hasPassword) found.push({ key: 'password', fault: BARE, remedy: message('redis.password.remedy') });
  if (sentinels && !ways.hasSentinelPassword) {
    found.push({ key: 'sentinelPassword', fault: BARE, remedy: message('redis.sentinel-password.remedy') });
  }
  if (!ways.tls && !ways.isPrivateNetwork) {
    found.push({ key: 'tls', fault: BARE, remedy: message('redis.tls.remedy') });
  }
  return found;
}

function unprotectedUrl(written: string, isPrivateNetwork: boolean): Unprotected[] {
  if (isSocket(written)) return [];
  const url = URL.parse(written);
  const lack = (code: 'redis.no-server' | 'redis.url-password' | 'redis.url-tls'): Unprotected => {
    const [fault, remedy] = withRemedy(code);
    return { key: 'url', fault, remedy };
  };
  if (url === null || url.hostname === '') return [lack('redis.no-server')];
  if (isThisMachine(url.hostname)) return [];
  const found: Unprotected[] = [];
  if (url.password === '') found.push(lack('redis.url-password'));
  if (url.protocol !== 'rediss:' && !isPrivateNetwork) found.push(lack('redis.url-tls'));
  return found;
}

/** Decides whether a location is a Unix socket path. */
function isSocket(url: string): boolean {
  return url.startsWith('/') && !url.startsWith('//');
}

/** Loopback of this host (RFC 6890; RFC 6761 section 6.3). */
function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}

/** MiB of one tenant. The links of 10,000 events need 0.6, and their first writes 8 while they wait. */
const tenantMebibytes = wholeNumber(1, 1_048_576);

/** Limits of each tenant. */
export const limits = z
  .strictObject({
    tenantMebibytes: tenantMebibytes
      .default(1_024)
      .describe(
        'Maximum memory of one tenant in Redis, in MiB. Above the limit, the daemon creates no more objects for the tenant (`tenant-too-large`). Above twice the limit, the daemon also changes no objects. While changes wait, only the newest report of a run is stored. Deletions and existing reminders and triggers continue; above twice the limit, no new ones are added.',
      ),
  })
  .prefault({});

/** A tenant's own limits. */
export const tenantLimits = z
  .strictObject({
    tenantMebibytes: tenantMebibytes
      .optional()
      .describe(
        'Maximum memory of this tenant in Redis, in MiB, if lower than `limits.tenantMebibytes` in the settings. A higher value has no effect.',
      ),
  })
  .prefault({});
