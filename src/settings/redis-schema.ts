import { z } from 'zod';
import { text, wholeNumber } from './common-schemas.ts';
import { isSocket, unprotected } from './redis-protection.ts';
import { Secret } from './secret.ts';
import type { SecretSchemas } from './secret-reference.ts';

/** Address of one server. */
export interface ServerAddress {
  host: string;
  port: number;
}

/** How connections to servers that are listed one by one are opened. */
interface ListedServers {
  username: string | undefined;
  password: string | undefined;
  tls: boolean;
}

/** A master and its replicas, found by asking sentinels. */
export interface SentinelPlace extends ListedServers {
  sentinels: readonly ServerAddress[];
  /** What the sentinels call the master. */
  name: string;
  sentinelUsername: string | undefined;
  sentinelPassword: string | undefined;
}

/** A Redis Cluster; the rest of it is found by asking any of these. */
export interface ClusterPlace extends ListedServers {
  cluster: readonly ServerAddress[];
}

/** Where Redis is: the address of one server, or how the one of several is found. */
export type RedisPlace = string | SentinelPlace | ClusterPlace;

const WAYS = ['url', 'sentinels', 'cluster'] as const;
/** Keys that mean nothing beside another way than these. */
const KEYS_OF_WAYS = {
  name: ['sentinels'],
  sentinelUsername: ['sentinels'],
  sentinelPassword: ['sentinels'],
  username: ['sentinels', 'cluster'],
  password: ['sentinels', 'cluster'],
  tls: ['sentinels', 'cluster'],
} as const satisfies Record<string, readonly (typeof WAYS)[number][]>;

/** @param defaultPort where the address names none */
function addresses(defaultPort: number) {
  const address = z.strictObject({
    host: text.describe('Name or address'),
    port: wholeNumber(1, 65_535).default(defaultPort).describe('Port'),
  });
  return z.array(address).min(1, 'name at least one');
}

/** Schema of `redis`: exactly one way to find it, and how many replicas must know a decision. */
export function redisSection(secrets: SecretSchemas) {
  return z
    .strictObject({
      url: secrets.plainOrReference
        .refine((url) => isAddress(url.reveal()), 'give rediss://user:password@host:port, or the path of a Unix socket')
        .optional()
        .describe(
          'Of one server: rediss://user:password@host:6379 (redis:// on this machine), or the path of its Unix socket; a reference when it holds a password. This, `sentinels` or `cluster` is needed',
        ),
      sentinels: addresses(26_379).optional().describe('Sentinels that know which server is the master'),
      name: text.optional().describe('What the sentinels call the master; needed with them'),
      cluster: addresses(6_379).optional().describe('Some servers of a Redis Cluster; they name the others'),
      username: text.optional().describe('User at the servers that sentinels or cluster name; the url holds its own'),
      password: secrets.text.optional().describe('Password at those servers'),
      sentinelUsername: text.optional().describe('User at the sentinels'),
      sentinelPassword: secrets.text.optional().describe('Password at the sentinels'),
      tls: z.boolean().optional().describe('TLS to servers and sentinels; a url says it by rediss://'),
      plaintext: z
        .enum(['private-network'])
        .optional()
        .describe(
          'Do without TLS to other machines, since nobody else is in the network between, such as that of Compose. Passwords are needed all the same',
        ),
      replicas: wholeNumber(0, 10)
        .optional()
        .describe(
          'Replicas that must know of a decision before a message goes out. Default: one, while any is connected',
        ),
    })
    .superRefine((redis, context) => {
      const given = WAYS.filter((way) => redis[way] !== undefined);
      const refuse = (path: string[], fault: string, message: string) =>
        context.addIssue({ code: 'custom', path, message, params: { fault } });
      const [way] = given;
      if (way === undefined) return refuse([], 'it says of no Redis where it is', 'give url, sentinels or cluster');
      if (given.length > 1) return refuse([], `${given.join(' and ')} are both given`, 'keep one of them');
      if (way === 'sentinels' && redis.name === undefined) {
        refuse(['name'], 'is missing', 'give the name that the sentinels monitor the master under');
      }
      for (const [key, ways] of Object.entries(KEYS_OF_WAYS)) {
        if (redis[key as keyof typeof KEYS_OF_WAYS] === undefined || ways.some((one) => one === way)) continue;
        refuse([key], `means nothing beside ${way}`, way === 'url' ? 'write it into the url' : 'leave it out');
      }
      const { url, sentinels = [], cluster = [], password, sentinelPassword, tls = false, plaintext } = redis;
      const had = { hasPassword: password !== undefined, hasSentinelPassword: sentinelPassword !== undefined };
      const ways = { url: url?.reveal(), sentinels, cluster, ...had, tls };
      for (const { key, fault, remedy } of unprotected({ ...ways, isPrivateNetwork: plaintext !== undefined })) {
        refuse([key], fault, remedy);
      }
    })
    .transform(({ replicas, plaintext: _, ...found }) => ({
      place: new Secret(placeOf(found), (found.url ?? found.password)?.readFrom),
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

function placeOf({ url, sentinels, name = '', cluster = [], tls = false, ...found }: Found): RedisPlace {
  if (url !== undefined) return url.reveal();
  const { username, sentinelUsername } = found;
  const servers = { username, password: found.password?.reveal(), tls };
  if (sentinels === undefined) return { ...servers, cluster };
  return { ...servers, sentinels, name, sentinelUsername, sentinelPassword: found.sentinelPassword?.reveal() };
}
