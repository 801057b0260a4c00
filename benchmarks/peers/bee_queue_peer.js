'use strict';

// bee-queue: a list of ids and a hash, an acknowledgement per message. The roles are those of protocol.py, the format of
// the progress file too.

const fs = require('fs');
const readline = require('readline');
const Queue = require('bee-queue');

const ERROR_RATE = 0.05;
const CONCURRENCY = 100;
const BATCH = 100;
const REPORT_MS = 10;

// Without events and stored jobs: nobody listens to them, and bee-queue's own documentation advises to turn off what is not used.
const LEAN = { getEvents: false, sendEvents: false, storeJobs: false, removeOnSuccess: true };
// As it comes: none of that, and jobs saved one by one, so many of them under way.
const AS_IT_COMES = process.env.AS_IT_COMES === '1';
const SETTINGS = AS_IT_COMES ? {} : LEAN;

function work(url, progressFile) {
    const queue = new Queue('peer', { ...SETTINGS, redis: { url } });
    const progress = fs.openSync(progressFile, 'r+');
    const figures = Buffer.alloc(24);
    let at = 0n;
    let failed = 0;
    let handled = 0;

    // The whole work on a message. An erroneous one is only counted, as for the others.
    queue.process(CONCURRENCY, async () => {
        if (Math.random() < ERROR_RATE) failed += 1;
        handled += 1;
        at = process.hrtime.bigint();
    });

    // Node cannot share memory with a file; a write now and then costs nothing either.
    setInterval(() => {
        figures.writeBigInt64LE(at, 0);
        figures.writeBigInt64LE(BigInt(failed), 8);
        figures.writeBigInt64LE(BigInt(handled), 16);
        fs.writeSync(progress, figures, 0, figures.length, 0);
    }, REPORT_MS);

    return queue.ready();
}

async function prepare(url) {
    const queue = new Queue('peer', { ...SETTINGS, isWorker: false, redis: { url } });
    await queue.ready();
    return async (texts) => {
        for (let begin = 0; begin < texts.length; begin += BATCH) {
            const batch = texts.slice(begin, begin + BATCH).map((text) => queue.createJob({ text }));
            if (AS_IT_COMES) {
                await Promise.all(batch.map((job) => job.save()));
                continue;
            }
            const errors = await queue.saveAll(batch);
            if (errors.size > 0) throw errors.values().next().value;
        }
    };
}

async function main() {
    const [role, url, file] = process.argv.slice(2);
    const input = readline.createInterface({ input: process.stdin });
    input.on('close', () => process.exit(0));
    if (role === 'work') {
        await work(url, file);
    } else {
        const publish = await prepare(url);
        const texts = fs.readFileSync(file, 'utf8').trimEnd().split('\n');
        input.once('line', () => publish(texts));
    }
    process.stdout.write('ready\n');
}

main();
