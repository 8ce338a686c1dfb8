import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Asked, Place, ProcessOptions, Told } from './process.ts';

/** What a process of a fleet was given: a header or an error's code; null when it was killed meanwhile. */
export type Given = { header: string } | { code: string } | null;

/** Processes that share a connection. */
export interface Fleet {
  /**
   * Makes all processes request the header at once.
   * @param killAt the first process that reaches this step is ended there by SIGKILL; null: none
   * @returns the answers that each process got
   */
  ask(killAt: Place | null): Promise<Given[]>;
  /** Replaces each killed process. */
  refill(): Promise<void>;
  /** Ends them all. */
  end(): Promise<void>;
}

const PROCESS = fileURLToPath(new URL('process.ts', import.meta.url));
/** So many are started at once: more would only wait for a core. */
const STARTED_AT_ONCE = 4;

/** Starts the processes. The caller must stop the fleet. The processes also exit when the caller dies. */
export async function startFleet(count: number, options: ProcessOptions): Promise<Fleet> {
  const members: ChildProcess[] = [];
  async function refill(): Promise<void> {
    const alive = members.splice(0).filter((member) => !hasEnded(member));
    members.push(...alive);
    while (members.length < count) {
      const some = Math.min(STARTED_AT_ONCE, count - members.length);
      members.push(...(await Promise.all(Array.from({ length: some }, () => startMember(options)))));
    }
  }
  async function end(): Promise<void> {
    await Promise.all(members.map(kill));
  }
  try {
    await refill();
  } catch (error) {
    await end();
    throw error;
  }
  return {
    ask(killAt) {
      let place = killAt;
      /** @returns whether this one is killed */
      const isKilledAt = (at: Place) => {
        if (at !== place) return false;
        place = null;
        return true;
      };
      return Promise.all(members.map((member) => askMember(member, isKilledAt)));
    },
    refill,
    end,
  };
}

async function startMember(options: ProcessOptions): Promise<ChildProcess> {
  const member = fork(PROCESS, [JSON.stringify(options)]);
  const [told] = await Promise.race([once(member, 'message'), once(member, 'exit')]);
  if (typeof told !== 'object') throw new Error('a process could not be started');
  return member;
}

function askMember(member: ChildProcess, isKilledAt: (at: Place) => boolean): Promise<Given> {
  return new Promise((resolve) => {
    const onEnd = () => settle(null);
    const onTold = (told: Told) => {
      if ('at' in told) {
        if (isKilledAt(told.at)) member.kill('SIGKILL');
        else member.send('go on' satisfies Asked);
      } else if (!('open' in told)) settle(told);
    };
    const settle = (given: Given) => {
      member.off('message', onTold).off('exit', onEnd);
      resolve(given);
    };
    member.on('message', onTold).once('exit', onEnd);
    member.send('header' satisfies Asked);
  });
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

async function kill(member: ChildProcess): Promise<void> {
  if (hasEnded(member)) return;
  const ended = once(member, 'exit');
  member.kill('SIGKILL');
  await ended;
}
