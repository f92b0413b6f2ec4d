#!/usr/bin/env node
import '../dist/cli/replay/main.js'
