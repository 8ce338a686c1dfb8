import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { GOOGLE, type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { createCertificate } from '../../../sandbox/kit/certificate.ts';

/** Google at its real hosts, for processes started with this environment. */
export interface GoogleItself {
  sandbox: GoogleSandbox;
  /** Environment that sends a process through a proxy which answers only for Google's servers. */
  env: Record<string, string>;
  /** Hosts of all connection requests, Google's and others. */
  hosts: ReadonlySet<string>;
  /** Returns the URL at which a user without that proxy opens a Google URL. */
  opened(url: string): string;
  close(): Promise<void>;
}

/**
 * Starts the sandbox so that Google's real host names lead to it, over TLS: the Google configuration is used unchanged, without any URL of
 * a sandbox.
 * @param dir folder for its certificates
 */
export async function startGoogleItself(
  dir: string,
  client: { clientId: string; clientSecret: string },
): Promise<GoogleItself> {
  const sandbox = await startGoogleSandbox({ namesGoogle: true, clients: [client] });
  const certificates = new Map(
    Object.values(GOOGLE).map((address) => [new URL(address).hostname, createCertificate(new URL(address).hostname)]),
  );
  const trusted = join(dir, 'google.pem');
  await writeFile(trusted, [...certificates.values()].map(({ certificate }) => certificate).join(''));
  const hosts = new Set<string>();
  const sockets = new Set<Socket>();
  const proxy = createServer((_request, response) => response.writeHead(403).end());
  proxy.on('connection', (socket) => sockets.add(socket));
  proxy.on('connect', (request, socket: Socket) => {
    socket.on('error', () => {});
    const { hostname, port } = new URL(`https://${request.url}`);
    hosts.add(hostname);
    const found = certificates.get(hostname);
    if (found === undefined || port !== '') return void socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    const secureContext = createSecureContext({ cert: found.certificate, key: found.privateKey });
    const near = new TLSSocket(socket, { isServer: true, secureContext });
    const far = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
    sockets.add(far);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      from.on('error', () => to.destroy());
      from.pipe(to);
    }
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  // A host name, as for an operator's proxy: the proxy is not subject to the lookup rules for tenants' hosts.
  const proxyUrl = `http://localhost:${(proxy.address() as AddressInfo).port}`;
  return {
    ...{ sandbox, hosts },
    env: { NODE_USE_ENV_PROXY: '1', HTTPS_PROXY: proxyUrl, NODE_EXTRA_CA_CERTS: trusted },
    opened: (url) => url.replace(GOOGLE.accounts, sandbox.url),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
      await sandbox.close();
    },
  };
}
