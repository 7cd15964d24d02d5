"""Values of records: conversion to declared types, text as in Java, ownership, size."""
