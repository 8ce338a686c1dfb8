// Loaded by `node --import` into a command that compares the clock of Redis with its own, after the preload of the date of the tests.
import { Redis } from 'ioredis';
import { timeOfTests } from './redis-date.ts';
import { machineNow } from './shifted-date.ts';

Redis.prototype.time = timeOfTests(Date.now() - machineNow()) as typeof Redis.prototype.time;
