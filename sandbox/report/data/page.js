"use strict";
// Side-by-side replay: every walk in a cell of one canvas, seen by the same camera, which a drag turns and the wheel zooms.
(function () {
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  const canvas = document.getElementById("replay-canvas");
  if (!data.walks.length) { return; }
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  for (const walk of data.walks) {
    walk.ends = new Int16Array(bytes(walk.ends));
    walk.follow = new Float32Array(bytes(walk.follow));
    walk.forces = walk.forces ? new Int16Array(bytes(walk.forces)) : null;
    walk.frames = walk.follow.length / 2;
  }
  const frames = Math.max(...data.walks.map((w) => w.frames));
  const play = document.getElementById("replay-play"), slider = document.getElementById("replay-time");
  const speed = document.getElementById("replay-speed"), clock = document.getElementById("replay-clock");
  const context = canvas.getContext("2d");
  let yaw = 1.05, pitch = 0.2, zoom = 1, frame = Math.min(data.first, frames - 1), playing = false, last = 0;
  slider.max = frames - 1;

  function draw() {
    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth;
    const rows = Math.ceil(data.walks.length / Math.max(1, Math.floor(width / 230))), columns = Math.ceil(data.walks.length / rows);
    const height = rows === 1 ? 460 : 340 * rows;
    canvas.style.height = height + "px";
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = "#f4f6f8"; context.fillRect(0, 0, width, height);
    data.walks.forEach((walk, k) => {
      const w = width / columns, h = height / rows;
      cell(walk, (k % columns) * w, Math.floor(k / columns) * h, w, h);
    });
    slider.value = frame; clock.textContent = (frame / data.fps).toFixed(2) + " s";
  }

  function cell(walk, left, top, width, height) {
    const k = Math.min(Math.floor(frame), walk.frames - 1);
    const scale = zoom * Math.min(width / 1.9, height / 2.25), cx = left + width / 2, cy = top + height * 0.53;
    const heading = walk.heading, turn = yaw - heading;
    const cyaw = Math.cos(turn), syaw = Math.sin(turn), cp = Math.cos(pitch), sp = Math.sin(pitch);
    // From above-behind: x right on the screen, depth away from it; the middle of the body is the centre.
    function project(x, y, z) {
      const u = cyaw * x + syaw * y, v = -syaw * x + cyaw * y, t = z - 0.92;
      return [cx + scale * u, cy - scale * (t * cp + v * sp), v * cp - t * sp];
    }
    context.save(); context.beginPath(); context.rect(left, top, width, height); context.clip();
    const fx = walk.follow[2 * k], fy = walk.follow[2 * k + 1];
    context.strokeStyle = "#dde3e8"; context.lineWidth = 1;
    for (let g = -2; g <= 2.01; g += 0.5) {
      const gx = Math.ceil(fx / 0.5) * 0.5 - fx + g, gy = Math.ceil(fy / 0.5) * 0.5 - fy + g;
      line(project(gx, -2, 0), project(gx, 2, 0)); line(project(-2, gy, 0), project(2, gy, 0));
    }
    const parts = [], n = walk.parts.length;
    for (let i = 0; i < n; i++) {
      const j = 6 * (k * n + i), v = Array.from({ length: 6 }, (_, m) => walk.ends[j + m] / 2000);
      const p = project(v[0], v[1], v[2]), q = project(v[3], v[4], v[5]);
      parts.push([(p[2] + q[2]) / 2, p, q, Math.max(1.5, 2 * walk.parts[i][0] * scale), walk.parts[i][1]]);
    }
    parts.sort((a, b) => b[0] - a[0]);
    context.lineCap = "round";
    for (const [, p, q, thick, colour] of parts) {
      context.strokeStyle = "rgba(30,40,50,0.35)"; context.lineWidth = thick + 1.6; line(p, q);
      context.strokeStyle = colour; context.lineWidth = thick; line(p, q);
    }
    if (walk.forces) {
      for (let foot = 0; foot < 2; foot++) {
        const j = 6 * (2 * k + foot), f = Array.from({ length: 6 }, (_, i) => walk.forces[j + i] / 2000);
        if (f[5] < 0.03) { continue; }
        context.strokeStyle = "#1b9e57"; context.lineWidth = 2.5;
        line(project(f[0], f[1], f[2]), project(f[0] + 0.9 * f[3], f[1] + 0.9 * f[4], f[2] + 0.9 * f[5]));
      }
    }
    context.fillStyle = "#22303c"; context.font = "600 13px system-ui, sans-serif"; context.fillText(walk.name, left + 10, top + 20);
    if (frame >= walk.frames) { context.fillStyle = "#b3261e"; context.fillText(walk.ended, left + 10, top + 38); }
    context.restore();
  }
  function line(p, q) { context.beginPath(); context.moveTo(p[0], p[1]); context.lineTo(q[0], q[1]); context.stroke(); }

  function tick(now) {
    if (playing) {
      frame += Math.min(0.2, (now - last) / 1000) * data.fps * Number(speed.value);
      if (frame >= frames) { frame = 0; }
      draw();
    }
    last = now; requestAnimationFrame(tick);
  }
  play.onclick = () => { playing = !playing; play.textContent = playing ? "Pause" : "Play"; };
  slider.oninput = () => { frame = Number(slider.value); draw(); };
  let grip = null;
  canvas.onpointerdown = (e) => { grip = [e.clientX, e.clientY, yaw, pitch]; canvas.setPointerCapture(e.pointerId); };
  canvas.onpointermove = (e) => {
    if (!grip) { return; }
    yaw = grip[2] + (e.clientX - grip[0]) / 150; pitch = Math.min(1.5, Math.max(-0.1, grip[3] + (e.clientY - grip[1]) / 200)); draw();
  };
  canvas.onpointerup = () => { grip = null; };
  canvas.onwheel = (e) => { e.preventDefault(); zoom = Math.min(4, Math.max(0.4, zoom * Math.exp(-e.deltaY / 600))); draw(); };
  window.addEventListener("resize", draw);
  window.replay = { seek: (k) => { frame = k; draw(); }, frames: frames };
  draw(); requestAnimationFrame(tick);
})();
