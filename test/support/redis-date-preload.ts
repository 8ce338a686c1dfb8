// Loaded by `node --import` into a command, and by a world of daemons in this process, that compare the clock of Redis with their own, after
// the preload of the date of the tests.
import { Cluster, Redis } from 'ioredis';
import { timeOfTests } from './redis-date.ts';
import { machineNow } from './shifted-date.ts';

const time = timeOfTests(Date.now() - machineNow()) as typeof Redis.prototype.time;
Redis.prototype.time = time;
Cluster.prototype.time = time as typeof Cluster.prototype.time;
