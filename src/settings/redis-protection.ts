/** As much of a server's address as matters here. */
interface Server {
  host: string;
}

/** What the settings say of how Redis is reached; `url` in clear, for the rest only whether it is there. */
export interface RedisWays {
  url: string | undefined;
  sentinels: readonly Server[];
  cluster: readonly Server[];
  hasPassword: boolean;
  hasSentinelPassword: boolean;
  tls: boolean;
  /** The operator's word that nobody else is in the network between us and Redis. */
  isPrivateNetwork: boolean;
}

/** Something that is missing where servers are on other machines: the key that it belongs to, what is wrong and what to do. */
export interface Unprotected {
  key: 'url' | 'password' | 'sentinelPassword' | 'tls';
  fault: string;
  remedy: string;
}

const PRIVATE_NETWORK = 'plaintext: private-network where nobody else is in the network between';
const BARE = 'is missing, and servers are on other machines';

/**
 * What keeps others from reading and writing our state: off this machine Redis has a password, and TLS unless the operator says that the
 * network is private. A Unix socket is guarded by its folder.
 */
export function unprotected(ways: RedisWays): Unprotected[] {
  if (ways.url !== undefined) return unprotectedUrl(ways.url, ways.isPrivateNetwork);
  const isElsewhere = ({ host }: Server) => !isThisMachine(host);
  const sentinels = ways.sentinels.some(isElsewhere);
  if (!sentinels && !ways.cluster.some(isElsewhere)) return [];
  const found: Unprotected[] = [];
  if (!ways.hasPassword) found.push({ key: 'password', fault: BARE, remedy: 'give the password that they ask for' });
  if (sentinels && !ways.hasSentinelPassword) {
    found.push({ key: 'sentinelPassword', fault: BARE, remedy: 'give the password that the sentinels ask for' });
  }
  if (!ways.tls && !ways.isPrivateNetwork) {
    found.push({ key: 'tls', fault: BARE, remedy: `set tls: true, or ${PRIVATE_NETWORK}` });
  }
  return found;
}

function unprotectedUrl(written: string, isPrivateNetwork: boolean): Unprotected[] {
  if (isSocket(written)) return [];
  const url = URL.parse(written);
  if (url === null || url.hostname === '') {
    const remedy = 'give redis://user:password@host:port, with a sign such as / or @ in the password as %2F or %40';
    return [{ key: 'url', fault: 'names no server', remedy }];
  }
  if (isThisMachine(url.hostname)) return [];
  const found: Unprotected[] = [];
  if (url.password === '') {
    found.push({
      key: 'url',
      fault: 'has no password, and the server is on another machine',
      remedy: 'have Redis ask for one, and write rediss://user:password@host:port',
    });
  }
  if (url.protocol !== 'rediss:' && !isPrivateNetwork) {
    found.push({
      key: 'url',
      fault: 'has no TLS, and the server is on another machine',
      remedy: `write rediss://, or set ${PRIVATE_NETWORK}`,
    });
  }
  return found;
}

/** Whether an address of one server is the path of a Unix socket. */
export function isSocket(url: string): boolean {
  return url.startsWith('/') && !url.startsWith('//');
}

/** The loopback of this machine (RFC 6890; RFC 6761 section 6.3). */
function isThisMachine(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|\[?::1\]?)$/i.test(host);
}
