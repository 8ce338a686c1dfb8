import { Socket } from 'node:net';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { createFeedDirectory } from '../../src/features/feeds/store.ts';
import { createAnswerStore } from '../../src/features/reminders/answer-store.ts';
import { heldBackMs } from '../../src/operator/control/access.ts';
import { signInByPassphrase } from '../../src/operator/control/sign-in.ts';
import { openApp } from '../../src/operator/http-server/app.ts';
import { networkOf } from '../../src/operator/http-server/caller.ts';
import { NOW } from '../domain/arbitraries.ts';
import { accessSettings, openAccessWorld } from '../operator/control/acting.ts';
import { useRedis } from '../support/redis.ts';

/*
 * Attack: one customer of a provider owns a whole /56, and sends from sixty or more of its /64 networks. Limits only per /64 let it use
 * all that the clients of a port, a clinic or an account share.
 */

const redis = useRedis({ appendOnly: false });

const byte = fc.integer({ min: 0, max: 0xff });
const block = fc.tuple(fc.integer({ min: 0x2000, max: 0x3fff }), fc.integer({ min: 0, max: 0xffff }), byte);
/** Networks of the attacker in one /56, and an honest network in another /56 of the same or another /48. */
const attack = fc
  .record({ own: block, networks: fc.uniqueArray(byte, { minLength: 60, maxLength: 120 }), other: block, near: byte })
  .filter(({ own, near }) => near !== own[2])
  .map(({ own, networks, other, near }) => ({
    attackers: networks.map((network) => addressIn(own, network)),
    honest: [addressIn([own[0], own[1], near], networks[0] ?? 0), addressIn(other, 1)],
  }));

function addressIn([first, second, third]: readonly [number, number, number], network: number): string {
  return `${first.toString(16)}:${second.toString(16)}:0:${((third << 8) | network).toString(16)}::1`;
}

const RUNS = { numRuns: 8 };

test('a port keeps places for every other block, also in the same /48', async () => {
  const limits = {
    ...{ headersTimeoutMs: 60_000, requestTimeoutMs: 60_000, checkEveryMs: 60_000 },
    ...{ mostConnections: 100, mostOfPeer: 10, reserved: 5 },
  };
  const property = fc.asyncProperty(attack, async ({ attackers, honest }) => {
    const app = await openApp({ log: silentLogger, limits });
    await app.ready();
    const sockets: Socket[] = [];
    const isHeld = (remoteAddress: string) => {
      const socket = new Socket();
      Object.defineProperty(socket, 'remoteAddress', { value: remoteAddress });
      app.server.emit('connection', socket);
      sockets.push(socket);
      return !socket.destroyed;
    };
    const held = attackers.flatMap((address) => Array.from({ length: 10 }, () => isHeld(address)));
    expect(held.filter((each) => each)).toHaveLength(15);
    for (const address of honest) {
      expect(Array.from({ length: 10 }, () => isHeld(address))).not.toContain(false);
    }
    for (const socket of sockets) socket.destroy();
    await app.close();
  });
  await fc.assert(property, RUNS);
});

test('the answers of a clinic and the feeds stay open to every other block', async () => {
  const connection = redis.connect();
  onTestFinished(() => void connection.disconnect());
  const answers = createAnswerStore(connection, 'rossi', (caller) => caller);
  const feeds = createFeedDirectory(connection);
  const admits: ((from: string, at: number) => Promise<boolean>)[] = [
    (from, at) => answers.admit(`r-${at}`, from, NOW),
    (from, at) => feeds.admit(`token-${from}-${at}`, from, NOW),
  ];
  const limits = [150, 90];
  const property = fc.asyncProperty(attack, async ({ attackers, honest }) => {
    await connection.flushall();
    for (const [index, admit] of admits.entries()) {
      const asked = attackers.flatMap((address, at) => [0, 1, 2].map((nth) => admit(networkOf(address), 3 * at + nth)));
      expect((await Promise.all(asked)).filter((each) => each)).toHaveLength(limits[index] ?? 0);
      for (const address of honest) {
        const got = await Promise.all(Array.from({ length: 30 }, (_, at) => admit(networkOf(address), 1_000 + at)));
        expect(got).not.toContain(false);
      }
    }
  });
  await fc.assert(property, { numRuns: 3 });
});

test('sign-ins and requests of a /56 have one and a half shares, and use up no account', async () => {
  const connection = redis.connect();
  const property = fc.asyncProperty(attack, async ({ attackers, honest }) => {
    await connection.flushall();
    const world = openAccessWorld(connection, { access: accessSettings({ passphrase: true }) });
    // The real comparison takes a tenth of a second on purpose.
    world.desk.passphrase.fits = async (given) => given === 'right';
    const codeOf = (address: string) =>
      signInByPassphrase(world.desk, 'wrong', { caller: networkOf(address), rememberedBrowser: null }).then(
        () => 'done',
        ({ code }: { code: string }) => code,
      );
    const guesses = await Promise.all(attackers.flatMap((address) => [codeOf(address), codeOf(address)]));
    expect(guesses.filter((code) => code === 'passphrase-wrong')).toHaveLength(30);
    for (const address of honest) expect(await codeOf(address)).toBe('passphrase-wrong');
    const asks = (address: string) => heldBackMs(world.desk, { by: 'address', who: networkOf(address) });
    const waits = await Promise.all(attackers.flatMap((address) => [1, 2, 3, 4].map(() => asks(address))));
    expect(waits.filter((wait) => wait === null)).toHaveLength(180);
    for (const address of honest) expect(await asks(address)).toBeNull();
  });
  await fc.assert(property, { numRuns: 3 });
});
